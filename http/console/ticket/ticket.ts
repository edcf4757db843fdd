/** Ticket of one market: the draft of an order, its preview, and its placement exactly once. */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { z } from "zod";
import type { Ticks } from "../../../actors/units.js";
import type { OrderAccepted, OrderPreview } from "../../surface-a/schemas/orders.js";
import { endAttempts, isUnanswered, sendOnce } from "../data/attempts.js";
import { asRefusal, type Refusal } from "../data/refusal.js";
import { signedCall } from "../trading/web-key.js";
import { bodyOf, readDraft, type Draft, type DraftErrors, type DraftOrder } from "./draft.js";
import type { Picked } from "./live.js";
import type { OwnOrders } from "./orders.js";
import { previewed, type PreviewedOrder } from "./sums.js";

/** Stage of the ticket. A preview belongs to exactly the draft that was read for it. */
export type Stage =
  | { readonly kind: "editing" }
  | { readonly kind: "previewing" }
  /** `isArmed` is false until the preview has stood long enough to be read. */
  | {
      readonly kind: "previewed";
      readonly order: DraftOrder;
      readonly preview: PreviewedOrder;
      readonly isArmed: boolean;
    }
  | { readonly kind: "placing"; readonly order: DraftOrder; readonly preview: PreviewedOrder };

const EDITING: Stage = { kind: "editing" };
/** Time in ms for which a preview stands before its order can be placed: a double click places nothing that was not read. */
const READ_MS = 400;

/** Last draft of each market, so that a sign-in or a look at another page loses nothing that was typed. */
const drafts = new Map<string, Draft>();

export class Ticket {
  readonly draft: Signal<Draft>;
  readonly stage = signal<Stage>(EDITING);
  /** Errors of the fields, shown after the first Enter. */
  readonly errors = signal<DraftErrors>({});
  readonly refusal = signal<Refusal | undefined>(undefined);
  /** True while it is unknown whether an order of this page was placed. */
  readonly hasUnknown: ReadonlySignal<boolean>;
  readonly #marketId: string;
  readonly #orders: OwnOrders;

  /** `outcomeId` is the outcome of the first draft of the market. */
  constructor(marketId: string, outcomeId: string, orders: OwnOrders) {
    this.#marketId = marketId;
    this.#orders = orders;
    this.hasUnknown = orders.hasUnknown;
    const empty: Draft = { outcomeId, price: "", qty: "", tif: "GTC", minutes: "", selfTrade: "wash" };
    this.draft = signal(drafts.get(marketId) ?? empty);
  }

  /** Changes fields of the draft, which ends its preview. */
  change(change: Partial<Draft>): void {
    if (this.stage.peek().kind === "placing") return;
    this.draft.value = { ...this.draft.peek(), ...change };
    drafts.set(this.#marketId, this.draft.value);
    this.stage.value = EDITING;
    this.errors.value = {};
  }

  /** Fills the ticket with a level of a ladder. */
  pick({ outcomeId, price, qty }: Picked): void {
    this.change({ outcomeId, price, ...(qty === undefined ? {} : { qty: String(qty) }) });
  }

  /** Returns to an empty ticket; a preview is left first. */
  clear(): void {
    const { kind } = this.stage.peek();
    if (kind === "placing") return;
    if (kind === "editing") this.change({ price: "", qty: "", minutes: "" });
    else this.change({});
    this.refusal.value = undefined;
  }

  /** Previews the draft, or places the order that was previewed. */
  async enter(table: readonly Ticks[]): Promise<void> {
    const stage = this.stage.peek();
    if (stage.kind === "previewing" || stage.kind === "placing") return;
    if (stage.kind === "previewed" && stage.preview.reject === undefined) {
      if (stage.isArmed) await this.#place(stage);
    } else await this.#preview(table);
  }

  async #preview(table: readonly Ticks[]): Promise<void> {
    const read = readDraft(this.draft.peek(), table);
    if ("errors" in read) {
      this.errors.value = read.errors;
      return;
    }
    const { order } = read;
    const asking: Stage = { kind: "previewing" };
    this.stage.value = asking;
    this.refusal.value = undefined;
    const isCurrent = (): boolean => this.stage.peek() === asking;
    try {
      const path = "/v3/orders/preview";
      const answer = await signedCall<z.infer<typeof OrderPreview>>("POST", path, { body: bodyOf(order) });
      if (!isCurrent()) return;
      const shown: Stage = {
        kind: "previewed",
        order,
        preview: previewed(order.price, answer),
        isArmed: false,
      };
      this.stage.value = shown;
      setTimeout(() => {
        if (this.stage.peek() === shown) this.stage.value = { ...shown, isArmed: true };
      }, READ_MS);
    } catch (error) {
      if (!isCurrent()) return;
      this.stage.value = EDITING;
      this.refusal.value = asRefusal(error);
    }
  }

  async #place({ order, preview }: Extract<Stage, { kind: "previewed" }>): Promise<void> {
    this.stage.value = { kind: "placing", order, preview };
    this.refusal.value = undefined;
    const body = bodyOf(order);
    // A draft that describes an unanswered order again, even in a ticket that was cleared, places the same order.
    const wanted = `order ${JSON.stringify(body)}`;
    let clientId = "";
    try {
      await sendOnce(wanted, async (id) => {
        clientId = id;
        this.#orders.sending(clientId, order);
        const sent = { body: { ...body, clientId } };
        const { orderId } = await signedCall<z.infer<typeof OrderAccepted>>("POST", "/v3/orders", sent);
        this.#orders.accepted(clientId, orderId);
      });
      this.stage.value = EDITING;
    } catch (error) {
      this.refusal.value = asRefusal(error);
      if (isUnanswered(wanted)) {
        // Enter sends the same order with the same id again, until a read finds it.
        const unanswered: Stage = { kind: "previewed", order, preview, isArmed: true };
        this.stage.value = unanswered;
        this.#orders.unanswered(clientId, () => {
          endAttempts(wanted);
          if (this.stage.peek() !== unanswered) return;
          this.stage.value = EDITING;
          this.refusal.value = undefined;
        });
      } else {
        this.#orders.refused(clientId);
        this.stage.value = EDITING;
      }
    }
  }
}
