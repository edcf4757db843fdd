/** Moves money between the account and one of its subaccounts, signed with the file of the management key. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Currency } from "../../../actors/market/types.js";
import { parseMoney } from "../../../actors/units.js";
import type { Balance, SessionAnswer, Transfer } from "../../surface-a/schemas/account.js";
import { Link } from "../app/router.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { sendOnce } from "../data/attempts.js";
import { showMoney } from "../data/money.js";
import { Refusal } from "../data/refusal.js";
import { useResource } from "../data/resource.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Choice, TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import { Money } from "../parts/values.js";
import { callWithKeyFile } from "./key-file.js";
import { KeyFileField } from "./key-file-field.js";

type TransferAnswer = z.infer<typeof Transfer>;
type Direction = TransferAnswer["direction"];

interface TransferDialogProps {
  /** Subaccount, named by one of its keys. */
  readonly subaccount: { readonly keyId: string; readonly label: string };
  readonly open: boolean;
  readonly onClose: () => void;
  /** Called after money has moved. */
  readonly onMoved: () => void;
}

/** A dialog that funds a subaccount, or takes money out of it. */
export function TransferDialog({ subaccount, open, onClose, onMoved }: TransferDialogProps) {
  return (
    <Dialog title={`Move money: ${subaccount.label}`} open={open} onClose={onClose}>
      <TransferForm subaccount={subaccount} onClose={onClose} onMoved={onMoved} />
    </Dialog>
  );
}

/** Money that can be moved, in each currency. */
interface Movable {
  readonly account: Readonly<Record<Currency, string>>;
  readonly subaccount: Readonly<Record<Currency, string>>;
}

async function readMovable(keyId: string, signal: AbortSignal): Promise<Movable> {
  const available = async (currency: Currency): Promise<string> => {
    const path = `/v3/account/subaccounts/${keyId}/balance`;
    return (await call<z.infer<typeof Balance>>("GET", path, { query: { currency }, signal })).available;
  };
  const [session, cash, coin] = await Promise.all([
    call<z.infer<typeof SessionAnswer>>("GET", "/v3/session", { signal }),
    available("CASH"),
    available("COIN"),
  ]);
  return { account: session.cash, subaccount: { CASH: cash, COIN: coin } };
}

function TransferForm({ subaccount, onClose, onMoved }: Omit<TransferDialogProps, "open">) {
  const movable = useResource((signal) => readMovable(subaccount.keyId, signal), [subaccount.keyId]);
  const [direction, setDirection] = useState<Direction>("fund");
  const [currency, setCurrency] = useState<Currency>("CASH");
  const [amount, setAmount] = useState("");
  const [file, setFile] = useState<File>();
  const [moved, setMoved] = useState<TransferAnswer>();
  const unit = currency === "CASH" ? "dollars" : "COIN";
  const transfer = useAction(async () => {
    if (amount.trim() === "")
      throw new Refusal(0, "AMOUNT_MISSING", `Enter the amount in ${unit}, such as 25.50.`);
    if (file === undefined)
      throw new Refusal(
        0,
        "KEY_FILE_MISSING",
        "Choose the file of the management key, which signs the transfer.",
      );
    const path = `/v3/account/subaccounts/${subaccount.keyId}/transfer`;
    const transfer = { direction, amount: amount.trim(), currency };
    const wanted = `${path} ${direction} ${parseMoney(transfer.amount) ?? transfer.amount} ${currency}`;
    // The service answers a repeat of a rejected transfer with its rejection, so that ends the attempt too.
    const answer = await sendOnce(wanted, (clientTransferId) =>
      callWithKeyFile<TransferAnswer>(file, "POST", path, { body: { ...transfer, clientTransferId } }),
    );
    if (answer.status === "Rejected") throw tooMuch(answer);
    setMoved(answer);
    onMoved();
  });

  if (moved !== undefined)
    return (
      <>
        <Note kind="done">
          <Money value={moved.amount} coin={moved.currency === "COIN"} /> moved{" "}
          {moved.direction === "fund" ? "into" : "out of"} {subaccount.label}.
        </Note>
        <Button kind="main" onClick={onClose}>
          Close
        </Button>
      </>
    );
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        transfer.run();
      }}
    >
      <Choice
        label="Direction"
        value={direction}
        choices={[
          ["fund", `From your account into ${subaccount.label}`],
          ["defund", `From ${subaccount.label} into your account`],
        ]}
        onChange={setDirection}
        hint={
          movable.value === undefined ? (
            movable.refusal === undefined ? (
              "Reading what is available."
            ) : (
              "What is available is unknown."
            )
          ) : (
            <>
              {direction === "fund" ? "Your account" : subaccount.label} has{" "}
              <Money
                value={movable.value[direction === "fund" ? "account" : "subaccount"][currency]}
                coin={currency === "COIN"}
              />{" "}
              available.
            </>
          )
        }
      />
      <Choice
        label="Currency"
        value={currency}
        choices={[
          ["CASH", "Dollars"],
          ["COIN", "COIN"],
        ]}
        onChange={setCurrency}
      />
      <TextField label={`Amount in ${unit}`} value={amount} onInput={setAmount} inputMode="decimal" />
      <KeyFileField onChoose={setFile} />
      <p class="quiet">
        No file? <Link to="/keys">Make a management key</Link>.
      </p>
      {/* Below what is typed, so that nothing moves there when it arrives. */}
      {movable.refusal !== undefined && (
        <div class="loaded-refusal">
          <Notice refusal={movable.refusal} />
          <Button busy={movable.loading} onClick={movable.reload}>
            Try again
          </Button>
        </div>
      )}
      <Notice refusal={transfer.refusal} onDismiss={transfer.dismiss} />
      <div class="buttons">
        <Button kind="main" submits busy={transfer.busy}>
          Move money
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

function tooMuch({ direction, actualBalance, currency }: TransferAnswer): Refusal {
  const from = direction === "fund" ? "Your account" : "The subaccount";
  const held = actualBalance === null ? "less than that" : showMoney(actualBalance, currency);
  const remedy =
    direction === "fund" ? "Send a smaller amount." : "Cancel open orders, or send a smaller amount.";
  return new Refusal(0, "INSUFFICIENT_BALANCE", `${from} has ${held} available. ${remedy}`);
}
