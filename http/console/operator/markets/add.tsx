/** Adds a set of markets to an event. Markets that the event has already are left out. */

import { useState } from "preact/hooks";
import { useAction } from "../../data/action.js";
import { Button } from "../../parts/button.js";
import { TextField } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import type { EventWithMarkets, MarketAnswer } from "../answers.js";
import { whyNot } from "../permission.js";
import { plural } from "../words.js";
import type { Batch } from "./actions.js";
import { BatchReport } from "./batch-report.js";
import { createMarkets } from "./create.js";
import { NEW_SET, planOf, SetFields } from "./set-fields.js";
import { exists, marketsOf } from "./sets.js";

interface AddMarketsProps {
  readonly event: EventWithMarkets;
  readonly markets: readonly MarketAnswer[];
  readonly reload: () => void;
}

export function AddMarkets({ event, markets, reload }: AddMarketsProps) {
  const hasWinner = markets.some(({ marketType }) => marketType === "MONEY");
  const [input, setInput] = useState({ ...NEW_SET, winner: !hasWinner });
  const [home, setHome] = useState(event.game?.homeTeam.name ?? "");
  const [away, setAway] = useState(event.game?.awayTeam.name ?? "");
  const [created, setCreated] = useState(0);
  const [batch, setBatch] = useState<Batch>();
  const sides = { home: home.trim(), away: away.trim() };
  const plan = planOf(input);
  const planned = plan === undefined ? [] : marketsOf(plan, sides);
  const missing = planned.filter((market) => !exists(market, markets));
  const add = useAction(async () => {
    setBatch(undefined);
    setCreated(0);
    setBatch(await createMarkets(event.eventId, missing, setCreated));
    reload();
  });
  const reason =
    whyNot("markets") ??
    (sides.home === "" || sides.away === ""
      ? "Name both sides first."
      : plan === undefined
        ? "Correct the fields first."
        : missing.length === 0
          ? "The event has these markets already; choose others."
          : undefined);
  return (
    <form
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (reason === undefined) add.run();
      }}
    >
      {event.game === null && (
        <div class="operator-fields">
          <TextField label="First side" value={home} onInput={setHome} />
          <TextField label="Second side" value={away} onInput={setAway} />
        </div>
      )}
      <SetFields input={input} onInput={setInput} home={sides.home} />
      {planned.length > 0 && (
        <ul class="markets-plan" aria-label="Markets to be created">
          {planned.map((market) => (
            <li key={market.description}>
              {market.description}
              {!missing.includes(market) && <span class="quiet"> (exists)</span>}
            </li>
          ))}
        </ul>
      )}
      <Notice refusal={add.refusal} onDismiss={add.dismiss} />
      <BatchReport batch={batch} done="created" />
      <Button kind="main" submits busy={add.busy} reason={reason}>
        {add.busy
          ? `Creating ${created} of ${missing.length}`
          : missing.length === 0
            ? "Create the markets"
            : `Create ${plural(missing.length, "market")}`}
      </Button>
    </form>
  );
}
