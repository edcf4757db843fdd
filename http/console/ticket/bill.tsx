/** Effect of an order in words and numbers: it always says what is paid, what is won and what is lost at worst. */

import { formatMoney, formatPrice, type Millicents } from "../../../actors/units.js";
import { showQuantity } from "../data/money.js";
import { Money, Price } from "../parts/values.js";
import { Note } from "../parts/notice.js";
import { reasonInWords } from "../data/reasons.js";
import type { Bill, PreviewedOrder } from "./sums.js";

function Amount({ of }: { readonly of: Millicents | undefined }) {
  return of === undefined ? <span class="number">–</span> : <Money value={formatMoney(of)} />;
}

interface BillProps {
  readonly outcome: string;
  /** Bill of the order; `undefined` while the ticket is incomplete. */
  readonly bill: Bill | undefined;
  /** True before the preview, when the bill is the worst case of the limit. */
  readonly atMost: boolean;
}

export function BillLines({ outcome, bill, atMost }: BillProps) {
  const most = atMost ? " at most" : "";
  return (
    <dl class="ticket-bill">
      <dt>Pays{most}</dt>
      <dd>
        <Amount of={bill?.pays} />
      </dd>
      <dt>Fee{most}</dt>
      <dd>
        <Amount of={bill?.fee} />
      </dd>
      <dt>Wins if {outcome}</dt>
      <dd>
        <Amount of={bill?.wins} />
      </dd>
      <dt>Loses otherwise</dt>
      <dd>
        <Amount of={bill?.loses} />
      </dd>
    </dl>
  );
}

/** Fills, rest and reserve that a preview promises. */
export function PreviewLines({
  preview,
  limit,
}: {
  readonly preview: PreviewedOrder;
  readonly limit: string;
}) {
  const { fills, filled, rests, queueAhead, reserve, reject } = preview;
  if (reject !== undefined) {
    return (
      <Note kind="warning">
        <p>The exchange would not take this order now: {reasonInWords(reject)}.</p>
        <p class="notice-code">{reject}</p>
      </Note>
    );
  }
  return (
    <ul class="ticket-preview" aria-label="What the order does now">
      {fills.map(({ price, qty }) => (
        <li key={price}>
          fills {showQuantity(qty)} at <Price value={formatPrice(price)} />
        </li>
      ))}
      {rests > 0 && (
        <li>
          rests {showQuantity(rests)} at <Price value={limit} />
          {queueAhead === 0 ? ", first in the queue" : ` behind ${showQuantity(queueAhead)}`}
        </li>
      )}
      {filled === 0 && rests === 0 && <li>fills nothing now</li>}
      <li>
        holds back <Money value={formatMoney(reserve)} />
      </li>
    </ul>
  );
}
