/** One line of a ladder. It is drawn again only when it has changed, because a busy book changes many times a second. */

import { Component, createRef } from "preact";
import { showQuantity } from "../data/money.js";
import { showTicks, type PriceForm } from "../data/prices.js";
import { fade } from "../parts/fade.js";
import type { Line } from "./ladder.js";

interface LineProps {
  readonly line: Line | undefined;
  readonly side: "offer" | "bid";
  /** True for the best line of its side. */
  readonly best: boolean;
  /** Quantity of a bar over the whole width. */
  readonly most: number;
  readonly form: PriceForm;
  readonly outcome: string;
  readonly onPick: (line: Line) => void;
}

/** Keeps the height of a line that has no price, so that the page does not jump. */
function EmptyLine() {
  return <div class="line line-empty" aria-hidden="true" />;
}

export class LadderLine extends Component<LineProps> {
  readonly #element = createRef<HTMLButtonElement>();

  override shouldComponentUpdate(next: LineProps): boolean {
    const { line, best, most, form } = this.props;
    return next.line !== line || next.best !== best || next.most !== most || next.form !== form;
  }

  override componentDidUpdate({ line: old }: LineProps): void {
    const { line } = this.props;
    const isChanged =
      old !== undefined && line !== undefined && (old.qty !== line.qty || old.ticks !== line.ticks);
    if (isChanged && this.#element.current !== null) fade(this.#element.current);
  }

  override render({ line, side, best, most, form, outcome, onPick }: LineProps) {
    if (line === undefined) return <EmptyLine />;
    const price = showTicks(line.ticks, form);
    const qty = showQuantity(line.qty);
    const { own } = line;
    return (
      <button
        ref={this.#element}
        type="button"
        class={`line line-${side}${best ? " line-best" : ""}`}
        tabIndex={best ? 0 : -1}
        onClick={() => onPick(line)}
      >
        <span class="line-bar" style={{ transform: `scaleX(${Math.min(1, line.qty / most)})` }} />
        <span class="hidden">Buy {outcome} at</span>
        <span class="line-price number">{price}</span>
        <span class="line-qty number">{qty}</span>
        <span class="hidden">{side === "offer" ? "offered" : "bid"}</span>
        <span class="line-own number">
          {own !== undefined && (
            <>
              yours {showQuantity(own.qty)}{" "}
              <span class="line-place" title="Place in the queue at this price">
                #{own.place}
              </span>
            </>
          )}
        </span>
      </button>
    );
  }
}
