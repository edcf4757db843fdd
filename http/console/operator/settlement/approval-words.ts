/** Actions that wait for a second operator, in words. */

import type { Permission } from "../../../auth/permissions.js";
import { showMoney } from "../../data/money.js";
import type { ApprovalAnswer } from "../answers.js";

interface ActionWords {
  readonly name: string;
  /** Permission that the action needs beside that of deciding. */
  readonly permission: Permission;
}

const ACTIONS: Readonly<Record<string, ActionWords>> = {
  "market.remediate": { name: "Take a settlement back", permission: "settlement" },
  "event.cancel": { name: "Cancel an event", permission: "markets" },
  "operator.create": { name: "Create an operator", permission: "operators" },
  "operator.role": { name: "Change the role of an operator", permission: "operators" },
  "trader.transaction": { name: "Post a transaction", permission: "money" },
};

/** Returns the words of an action; `undefined` for an action that this release of the pages does not know. */
export const actionWords = (action: string): ActionWords | undefined => ACTIONS[action];

const FIELDS: Readonly<Record<string, string>> = {
  reason: "Reason",
  settlementId: "Settlement",
  email: "E-mail",
  role: "Role",
  kind: "Kind",
  amount: "Amount",
  currency: "Currency",
  subaccountKeyId: "Wallet of the key",
  clientRef: "Reference",
};

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const kindWords = (kind: unknown): string => textOf(kind).toLowerCase().replaceAll("_", " ");

function moneyWords({ amount, currency }: ApprovalAnswer["details"]): string {
  return showMoney(textOf(amount), currency === "CASH" ? "CASH" : "COIN");
}

/** Returns the details of an action as pairs of a name and a text. Details that are not given are left out. */
export function detailWords({ details }: ApprovalAnswer): readonly (readonly [name: string, text: string])[] {
  return Object.entries(details)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([field, value]) => {
      const name = FIELDS[field] ?? field;
      if (field === "amount") return [name, moneyWords(details)];
      return [name, field === "kind" ? kindWords(value) : textOf(value)];
    });
}

/** Returns in a sentence what an action does. */
export function sentenceOf(
  { action, subject, details }: ApprovalAnswer,
  nameOf: (operatorId: string | null) => string,
): string {
  switch (action) {
    case "operator.create":
      return `${textOf(details["email"])} becomes an operator with the role ${textOf(details["role"])}.`;
    case "operator.role":
      return `The role of ${nameOf(subject)} becomes ${textOf(details["role"])}.`;
    case "trader.transaction": {
      const key = details["subaccountKeyId"];
      const wallet = typeof key === "string" ? `the wallet of the key ${key}` : "the own wallet";
      return `Posts to ${wallet} of the trader ${subject}: ${kindWords(details["kind"])} of ${moneyWords(details)}.`;
    }
    default:
      return "The details above are all that it changes.";
  }
}
