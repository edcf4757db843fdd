import { expect } from "chai";
import { ledgerActor, marketActor } from "../../../actors/actor.js";
import { packNotification, parseNotification } from "../../../stream/log/notifications.js";

const [LEDGER, MARKET] = [ledgerActor(0), marketActor("m")];
const APPENDED = [
  { partition: "l0", actor: LEDGER, position: 4, body: "first" },
  { partition: "l0", actor: LEDGER, position: 5, body: "" },
  { partition: "m1", actor: MARKET, position: 6, body: "other" },
];
const WATCHED = new Set(["l0"]);
const inline = (position: number, body: string) => ({ actor: LEDGER, inline: { position, body } });
const NAME_ALONE = { actor: LEDGER, inline: undefined };

describe("the text of a notification", () => {
  for (const [what, text, notices] of [
    ["with bodies", packNotification(7, 3, APPENDED, true), [inline(4, "first"), inline(5, "")]],
    ["with the actors alone", packNotification(7, 3, APPENDED, false), [NAME_ALONE]],
    // Nothing says of which database an earlier build has read the bodies.
    ["of an earlier build, with bodies", "7\nl0 ledger:0 4\nfirst\nm1 market:m 6\nother", [NAME_ALONE]],
    ["of an earlier build, with the actors alone", "7\nl0 ledger:0\n\nm1 market:m\n", [NAME_ALONE]],
  ] as const) {
    it(`is read in its own database ${what}, for the watched partitions`, () => {
      const notifications = [{ partition: "l0", notices, scanAll: false }];
      expect(parseNotification(text, WATCHED, 3)).to.deep.equal({ number: 7, notifications });
    });
  }

  it("is not read in another database", () => {
    for (const isInline of [true, false])
      expect(parseNotification(packNotification(7, 3, APPENDED, isInline), WATCHED, 0)).to.equal(undefined);
  });
});
