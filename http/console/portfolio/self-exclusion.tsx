/** Self-exclusion: a trader keeps themself from trading until a time, and nobody can end it early. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { SelfExclusion as SelfExclusionBody } from "../../surface-a/schemas/account.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { showFull } from "../data/time.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Choice, TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import type { AccountAnswer } from "./wallets.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const PERIODS = [
  ["1", "1 day"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["182", "6 months"],
  ["365", "1 year"],
  ["1826", "5 years"],
  ["date", "Until a day of my choice"],
] as const;
type Period = (typeof PERIODS)[number][0];

interface SelfExclusionProps {
  readonly account: AccountAnswer;
  readonly onExcluded: () => void;
}

/** Returns the end of the chosen period, or `undefined` while no future day is chosen. */
function endOf(period: Period, day: string, nowMs: number): number | undefined {
  if (period !== "date") return nowMs + Number(period) * DAY_MS;
  const end = new Date(`${day}T00:00:00`).getTime();
  return end > nowMs ? end : undefined;
}

export function SelfExclusion({ account, onExcluded }: SelfExclusionProps) {
  const [period, setPeriod] = useState<Period>("1");
  const [day, setDay] = useState("");
  const [until, setUntil] = useState<number>();
  const [error, setError] = useState<string>();
  const current = account.selfExcludedUntil ?? undefined;
  const isExcluded = current !== undefined && current > Date.now();

  const ask = (): void => {
    const end = endOf(period, day, Date.now());
    setUntil(end);
    setError(end === undefined ? "Choose a day in the future." : undefined);
  };
  return (
    <section class="form" aria-labelledby="self-exclusion-title">
      <h2 id="self-exclusion-title">Take a break</h2>
      {isExcluded && (
        <Note kind="warning">
          <p>
            You have excluded yourself until {showFull(current)}. Nobody can end this early; you can only make
            it longer.
          </p>
        </Note>
      )}
      <p>
        Self-exclusion keeps you from trading for a time that you choose. Your open orders are canceled at
        once. What you hold stays yours and is paid when its markets are settled.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <Choice label="For how long" value={period} choices={PERIODS} onChange={setPeriod} />
        {period === "date" && (
          <TextField
            label="First day of trading again"
            type="date"
            value={day}
            error={error}
            onInput={setDay}
          />
        )}
        <Button submits kind="danger">
          {isExcluded ? "Exclude me for longer" : "Exclude me from trading"}
        </Button>
      </form>
      <Dialog
        title="Exclude yourself from trading?"
        open={until !== undefined}
        onClose={() => setUntil(undefined)}
      >
        {until !== undefined && (
          <Confirmation
            until={until}
            onClose={() => setUntil(undefined)}
            onExcluded={() => {
              setUntil(undefined);
              onExcluded();
            }}
          />
        )}
      </Dialog>
    </section>
  );
}

interface ConfirmationProps {
  readonly until: number;
  readonly onClose: () => void;
  readonly onExcluded: () => void;
}

function Confirmation({ until, onClose, onExcluded }: ConfirmationProps) {
  const [understood, setUnderstood] = useState(false);
  const exclude = useAction(async () => {
    await call<z.infer<typeof SelfExclusionBody>>("POST", "/v3/session/self-exclusion", { body: { until } });
    onExcluded();
  });
  return (
    <>
      <p>
        From now until <strong>{showFull(until)}</strong>:
      </p>
      <ul>
        <li>All your open orders, in all subaccounts, are canceled.</li>
        <li>You cannot place or change orders, and you cannot move money between your wallets.</li>
        <li>You can log in, read everything, and cancel.</li>
        <li>Nobody can end this early: not you, and no operator. You can only make it longer.</li>
      </ul>
      <label class="portfolio-check">
        <input
          type="checkbox"
          checked={understood}
          onChange={(event) => setUnderstood(event.currentTarget.checked)}
        />
        I understand that this cannot be undone.
      </label>
      <Notice refusal={exclude.refusal} onDismiss={exclude.dismiss} />
      <div class="buttons">
        <Button
          kind="danger"
          busy={exclude.busy}
          reason={understood ? undefined : "Confirm first that this cannot be undone."}
          onClick={exclude.run}
        >
          Exclude me
        </Button>
        <Button onClick={onClose}>Do not exclude me</Button>
      </div>
    </>
  );
}
