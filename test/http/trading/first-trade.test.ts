import { startStack } from "../../support/stack.js";
import { firstTrade } from "./first-trade.js";

describe("the first trade through HTTP alone", function () {
  this.timeout(60_000);
  firstTrade(() => startStack());
});
