/** Actions on a trader. Each says what will happen, and asks for the reason. */

import { useState } from "preact/hooks";
import { call, pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";
import { plural } from "../words.js";
import type { OrderAnswer, TraderAnswer } from "./answers.js";
import { NewTransaction } from "./new-transaction.js";
import { kycWord, stateWord } from "./words.js";

export interface ActionProps {
  readonly trader: TraderAnswer;
  /** Called with what was done, in words. */
  readonly onDone: (done: string) => void;
}

type Dialog = "state" | "kyc" | "sessions" | "transaction" | "collateral";

export function Actions({ trader, onDone }: ActionProps) {
  const [open, setOpen] = useState<Dialog>();
  const close = (): void => setOpen(undefined);
  const button = (dialog: Dialog, text: string, reason: string | undefined) => (
    <Button reason={reason} onClick={() => setOpen(dialog)}>
      {text}
    </Button>
  );
  const noSubaccount = trader.subaccounts.length === 0 ? "The trader has no subaccount." : undefined;
  return (
    <>
      <div class="operator-row">
        {button("state", "Change the state", whyNot("accounts"))}
        {button("kyc", "Record the identity check", whyNot("accounts"))}
        {button("sessions", "End the sessions", whyNot("accounts"))}
        {button("transaction", "Post a transaction", whyNot("money"))}
        {button("collateral", "Change the collateral", whyNot("money") ?? noSubaccount)}
      </div>
      {open === "state" && <State trader={trader} onDone={onDone} onClose={close} />}
      {open === "kyc" && <Kyc trader={trader} onDone={onDone} onClose={close} />}
      {open === "sessions" && <Sessions trader={trader} onDone={onDone} onClose={close} />}
      {open === "transaction" && <NewTransaction trader={trader} onDone={onDone} onClose={close} />}
      {open === "collateral" && <Collateral trader={trader} onDone={onDone} onClose={close} />}
    </>
  );
}

export interface DialogProps extends ActionProps {
  readonly onClose: () => void;
}

const STATES = [
  ["ACTIVE", "active: may trade"],
  ["LOCKED", "locked: may sign in and see the reason, and nothing else"],
  ["EXCLUDED", "excluded: may read and cancel"],
  ["SELF_EXCLUDED", "self-excluded: may read and cancel"],
] as const;

function State({ trader, onDone, onClose }: DialogProps) {
  const { traderId } = trader;
  const choices = STATES.filter(([state]) => state !== trader.state);
  const [state, setState] = useState(choices[0]?.[0] ?? "LOCKED");
  const open = useResource((signal) => openOrders(trader, signal), [traderId]);
  return (
    <Consequence
      title="Change the state"
      open
      onClose={onClose}
      reason="required"
      confirm="Change the state"
      act={async (reason) => {
        const body = { state, reason };
        const changed = await call<TraderAnswer>("POST", `/admin/v1/traders/${traderId}/state`, { body });
        onDone(`The trader is ${stateWord(changed)}.`);
      }}
    >
      <p>The trader is {stateWord(trader)}.</p>
      <Choice label="New state" value={state} choices={choices} onChange={setState} />
      {state === "ACTIVE" ? (
        <p>
          The trader can trade again. An exclusion that the trader asked for lasts to its end, whatever the
          state.
        </p>
      ) : (
        <>
          <p>
            {open.value === undefined ? "All open orders" : plural(open.value, "open order")} of the trader{" "}
            {open.value === 1 ? "is" : "are"} canceled, and new ones are refused.
          </p>
          <Notice refusal={open.refusal} />
        </>
      )}
    </Consequence>
  );
}

/** Returns the number of open orders in all wallets of a trader. */
async function openOrders({ traderId, subaccounts }: TraderAnswer, signal: AbortSignal): Promise<number> {
  const lists = await Promise.all(
    [undefined, ...subaccounts.map(({ keyId }) => keyId)].map((subaccount) =>
      pages<OrderAnswer>(
        `/admin/v1/traders/${traderId}/orders`,
        { subaccount, status: "PENDING,OPEN" },
        { signal },
      ),
    ),
  );
  return lists.flat().length;
}

const RESULTS = [
  ["VERIFIED", "verified: may trade"],
  ["PENDING", "in review: may not trade yet"],
  ["REJECTED", "rejected: may not trade"],
] as const;

function Kyc({ trader, onDone, onClose }: DialogProps) {
  const choices = RESULTS.filter(([result]) => result !== trader.kyc);
  const [status, setStatus] = useState(choices[0]?.[0] ?? "VERIFIED");
  return (
    <Consequence
      title="Record the identity check"
      open
      onClose={onClose}
      reason="required"
      confirm="Record the result"
      act={async (reason) => {
        const body = { status, reason };
        const { kyc } = await call<TraderAnswer>("POST", `/admin/v1/traders/${trader.traderId}/kyc`, {
          body,
        });
        onDone(`The identity of the trader is ${kycWord(kyc)}.`);
      }}
    >
      <p>The identity is {kycWord(trader.kyc)}. Only a verified trader may place orders.</p>
      <Choice label="Result" value={status} choices={choices} onChange={setStatus} />
    </Consequence>
  );
}

function Sessions({ trader, onDone, onClose }: DialogProps) {
  return (
    <Consequence
      title="End the sessions"
      open
      onClose={onClose}
      reason="required"
      confirm="End all sessions"
      act={async (reason) => {
        await call("POST", `/admin/v1/traders/${trader.traderId}/sessions/end`, { body: { reason } });
        onDone("All sessions of the trader have ended.");
      }}
    >
      <p>
        Whoever is signed in to this account is signed out, in every browser. Keys go on working, and orders
        stay in the books.
      </p>
    </Consequence>
  );
}

const POLICIES = [
  ["hold", "each order holds its own money"],
  ["net", "orders on both sides of a market hold the worse of both"],
] as const;

function Collateral({ trader, onDone, onClose }: DialogProps) {
  const [keyId, setKeyId] = useState(trader.subaccounts[0]?.keyId ?? "");
  const wallet = trader.subaccounts.find((one) => one.keyId === keyId);
  const policy = wallet?.collateral === "net" ? "hold" : "net";
  return (
    <Consequence
      title="Change the collateral"
      open
      onClose={onClose}
      confirm="Change the collateral"
      act={async () => {
        const body = { policy, subaccountKeyId: keyId };
        await call("POST", `/admin/v1/traders/${trader.traderId}/collateral`, { body });
        onDone(`The collateral of ${wallet?.label ?? "the subaccount"} has changed.`);
      }}
    >
      <Choice
        label="Subaccount"
        value={keyId}
        choices={trader.subaccounts.map((one) => [one.keyId, one.label] as const)}
        onChange={setKeyId}
      />
      {POLICIES.map(([name, text]) => (
        <p key={name}>
          {name === policy ? "From now on" : "Until now"}, {text}.
        </p>
      ))}
      <p>The change is refused while the open orders would hold more than the wallet has.</p>
    </Consequence>
  );
}
