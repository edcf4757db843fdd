/** Correction of a market: its description, its in-play delay and its fee (contract section 8.8). */

import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { Button } from "../../parts/button.js";
import { Dialog } from "../../parts/dialog.js";
import { Choice, TextField } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import type { MarketAnswer } from "../answers.js";

interface CorrectMarketProps {
  /** Market that is corrected; without one the dialog is closed. */
  readonly market: MarketAnswer | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function CorrectMarket({ market, onClose, onDone }: CorrectMarketProps) {
  return (
    <Dialog title="Correct the market" open={market !== undefined} onClose={onClose}>
      {market !== undefined && (
        <Form key={market.marketId} market={market} onClose={onClose} onDone={onDone} />
      )}
    </Dialog>
  );
}

interface FormProps extends Omit<CorrectMarketProps, "market"> {
  readonly market: MarketAnswer;
}

function Form({ market, onClose, onDone }: FormProps) {
  const [description, setDescription] = useState(market.description);
  const [delay, setDelay] = useState(String(market.liveDelayMs));
  const [coefficient, setCoefficient] = useState(market.fee.coefficient);
  const [makerCredit, setMakerCredit] = useState(market.fee.makerCredit);
  const [charged, setCharged] = useState(market.fee.charged);
  const isDelay = /^\d{1,6}$/.test(delay.trim());
  const fee = { coefficient: coefficient.trim(), makerCredit: makerCredit.trim(), charged };
  const isSameFee =
    fee.coefficient === market.fee.coefficient &&
    fee.makerCredit === market.fee.makerCredit &&
    fee.charged === market.fee.charged;
  const changes = {
    ...(description.trim() === market.description ? {} : { description: description.trim() }),
    ...(Number(delay) === market.liveDelayMs ? {} : { liveDelayMs: Number(delay) }),
    ...(isSameFee ? {} : { fee }),
  };
  const save = useAction(async () => {
    await call("PATCH", `/admin/v1/markets/${market.marketId}`, { body: changes });
    onDone();
  });
  const reason = !isDelay
    ? "Enter the delay in ms first."
    : Object.keys(changes).length === 0
      ? "Nothing is changed yet."
      : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === undefined) save.run();
      }}
    >
      <TextField label="Description" value={description} onInput={setDescription} />
      <TextField
        label="In-play delay, ms"
        hint="Orders that could take liquidity wait for it while the event is in play."
        error={isDelay ? undefined : "Enter a whole number of ms, such as 2000."}
        inputMode="numeric"
        value={delay}
        onInput={setDelay}
      />
      <TextField
        label="Fee coefficient"
        hint="A changed fee applies to orders that are accepted later."
        inputMode="decimal"
        value={coefficient}
        onInput={setCoefficient}
      />
      <TextField
        label="Share of the fee that makers are credited"
        inputMode="decimal"
        value={makerCredit}
        onInput={setMakerCredit}
      />
      <Choice
        label="Fees are charged"
        value={charged}
        choices={[
          ["ALWAYS", "always"],
          ["WHEN_LIVE", "in play"],
        ]}
        onChange={setCharged}
      />
      <Notice refusal={save.refusal} onDismiss={save.dismiss} />
      <div class="buttons">
        <Button kind="main" submits busy={save.busy} reason={reason}>
          Save the changes
        </Button>
        <Button onClick={onClose}>Discard</Button>
      </div>
    </form>
  );
}
