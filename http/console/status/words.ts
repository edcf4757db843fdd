/** States of the service in words for people. */

import type { ListState, ServiceState, TradingState } from "../../ops/status.js";

/** State of one part in a word and a sentence; `level` decides the shape beside the word. */
export interface Line {
  readonly level: "good" | "limited" | "down";
  readonly word: string;
  readonly meaning: string;
}

export function heading(state: ServiceState): string {
  switch (state) {
    case "UP":
      return "Everything works";
    case "DEGRADED":
      return "Some things do not work";
    case "MAINTENANCE":
      return "The exchange is in maintenance";
    case "DOWN":
      return "Trading is interrupted";
    default:
      return state satisfies never;
  }
}

export function tradingLine(state: TradingState): Line {
  switch (state) {
    case "OPEN":
      return { level: "good", word: "Open", meaning: "Orders and cancels are accepted." };
    case "PARTLY":
      return {
        level: "limited",
        word: "Partly open",
        meaning: "Some traders or markets stand still; all others trade.",
      };
    case "CANCELS":
      return {
        level: "limited",
        word: "Cancels only",
        meaning: "Orders can be canceled, and none can be placed.",
      };
    case "CLOSED":
      return {
        level: "down",
        word: "Closed",
        meaning: "No order can be placed or canceled now. Accepted orders are kept.",
      };
    default:
      return state satisfies never;
  }
}

export function listsLine(state: ListState): Line {
  switch (state) {
    case "CURRENT":
      return {
        level: "good",
        word: "Current",
        meaning: "Orders, fills, transactions and markets are up to date.",
      };
    case "BEHIND":
      return {
        level: "limited",
        word: "Behind",
        meaning: "The newest orders, fills and transactions are missing for now; nothing is lost.",
      };
    case "AWAY":
      return {
        level: "down",
        word: "Away",
        meaning: "Lists of orders, fills, transactions and markets cannot be read now; nothing is lost.",
      };
    default:
      return state satisfies never;
  }
}

export function signInLine(works: boolean): Line {
  return works
    ? { level: "good", word: "Open", meaning: "People can sign in, register and change keys." }
    : {
        level: "down",
        word: "Away",
        meaning: "Nobody can sign in, register or change a key now. Keys that exist go on working.",
      };
}
