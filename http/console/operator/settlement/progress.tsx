/** Progress of a settlement that pays, or takes back. */

import { showQuantity } from "../../data/money.js";
import type { MarketAnswer, SettlementAnswer } from "../answers.js";
import { gradeWords } from "./grade.js";

interface ProgressProps {
  readonly market: MarketAnswer;
  readonly settlement: SettlementAnswer;
}

export function Progress({ market, settlement }: ProgressProps) {
  const { status, paid, wallets, grade } = settlement;
  const isReversing = status === "REVERSING";
  return (
    <>
      <h2>{isReversing ? "The settlement is taken back" : "The settlement pays"}</h2>
      {grade !== null && <p>{gradeWords(market, grade)}.</p>}
      <progress class="settlement-progress" aria-label="Wallets" value={paid} max={Math.max(wallets, 1)} />
      <p role="status">
        {showQuantity(paid)} of {showQuantity(wallets)} wallets {isReversing ? "have given back" : "are paid"}
        .
      </p>
      <p class="quiet">It continues by itself, also after a restart, and pays no wallet twice.</p>
    </>
  );
}
