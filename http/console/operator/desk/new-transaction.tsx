/** Dialog that posts a transaction to a wallet of a trader. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { TransactedOrApproval } from "../../../admin/schemas/traders.js";
import { call } from "../../data/api.js";
import { sendOnce } from "../../data/attempts.js";
import { showMoney } from "../../data/money.js";
import { Choice, TextField } from "../../parts/field.js";
import { Consequence } from "../consequence.js";
import type { DialogProps } from "./actions.js";

const KINDS = [
  ["DEPOSIT", "deposit: money in"],
  ["WITHDRAWAL", "withdrawal: money out"],
  ["CREDIT", "credit: money in"],
  ["CREDIT_RECLAIM", "credit reclaim: money out"],
  ["FORWARDING", "forwarding: money in"],
  ["ADJUSTMENT", "adjustment: with its own sign"],
] as const;
type Kind = (typeof KINDS)[number][0];

const AMOUNT = /^-?\d+(\.\d{1,5})?$/;

export function NewTransaction({ trader, onDone, onClose }: DialogProps) {
  const [kind, setKind] = useState<Kind>("DEPOSIT");
  const [amount, setAmount] = useState("");
  const [wallet, setWallet] = useState("own");
  const wallets = [
    ["own", "own wallet"] as const,
    ...trader.subaccounts.map(({ keyId, label }) => [keyId, label] as const),
  ];
  const text = amount.trim();
  const fault = faultOf(kind, text);
  return (
    <Consequence
      title="Post a transaction"
      open
      onClose={onClose}
      reason="required"
      confirm="Post the transaction"
      disabled={fault}
      act={async (reason) => {
        const path = `/admin/v1/traders/${trader.traderId}/transactions`;
        const subaccount = wallet === "own" ? {} : { subaccountKeyId: wallet };
        const body = { kind, amount: text, currency: "CASH", reason, ...subaccount };
        const wanted = ["transaction", trader.traderId, wallet, kind, Number(text)].join(" ");
        const answer = await sendOnce(wanted, (clientRef) =>
          call<z.infer<typeof TransactedOrApproval>>("POST", path, { body: { ...body, clientRef } }),
        );
        onDone(
          "approvalId" in answer
            ? "The transaction waits for a second operator, under Settlement."
            : `Posted. The wallet holds ${showMoney(answer.balance)}.`,
        );
      }}
    >
      <Choice label="Kind" value={kind} choices={KINDS} onChange={setKind} />
      <Choice label="Wallet" value={wallet} choices={wallets} onChange={setWallet} />
      <TextField
        label="Amount in dollars"
        inputMode="decimal"
        value={amount}
        onInput={setAmount}
        hint="With at most five decimals, such as 12.50."
        error={text === "" ? undefined : fault}
      />
    </Consequence>
  );
}

function faultOf(kind: Kind, amount: string): string | undefined {
  if (!AMOUNT.test(amount)) return "Enter an amount such as 12.50.";
  if (/^-?0*(\.0*)?$/.test(amount)) return "Enter an amount that is not zero.";
  if (amount.startsWith("-") && kind !== "ADJUSTMENT")
    return "Enter a positive amount: the kind gives its sign.";
  return undefined;
}
