/** Correction of a market: its description, its in-play delay and its fee (contract section 8.8). */

import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.js";
import { Choice, TextField } from "../../parts/field.js";
import type { MarketAnswer } from "../answers.js";
import { Correction } from "../correction.js";

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
  return (
    <Correction
      path={`/admin/v1/markets/${market.marketId}`}
      changes={changes}
      missing={isDelay ? undefined : "Enter the delay in ms first."}
      onClose={onClose}
      onDone={onDone}
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
    </Correction>
  );
}
