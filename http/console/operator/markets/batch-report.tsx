/** Report on a request that was sent for several markets. */

import { asRefusal } from "../../data/refusal.js";
import { Note } from "../../parts/notice.js";
import { plural } from "../words.js";
import type { Batch } from "./actions.js";

interface BatchReportProps {
  readonly batch: Batch | undefined;
  /** Participle of the request, such as `paused`. */
  readonly done: string;
}

export function BatchReport({ batch, done }: BatchReportProps) {
  if (batch === undefined) return null;
  const { refused } = batch;
  return (
    <Note kind={refused.length === 0 ? "done" : "warning"}>
      <p>
        {plural(batch.done, "market")} {done}
        {refused.length === 0 ? "." : `, ${refused.length} refused:`}
      </p>
      {refused.length > 0 && (
        <ul class="markets-refused">
          {refused.map(({ market, error }) => {
            const { code, message } = asRefusal(error);
            return (
              <li key={market}>
                {market}: {message} <span class="notice-code">{code}</span>
              </li>
            );
          })}
        </ul>
      )}
    </Note>
  );
}
