import { expect } from "chai";
import { LOWER_UUID } from "../../../actors/uuid.js";
import { idFrom, timedIdFrom } from "../../../http/request/command-ids.js";

const [EARLIER, LATER] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 1];

describe("ids that follow from a request", () => {
  it("are UUIDs that a repeat has again, and no other request, time or name", () => {
    const made = [
      idFrom("a", "order 0"),
      idFrom("a", "order 1"),
      idFrom("b", "order 0"),
      timedIdFrom(EARLIER, "a", "order 0"),
      timedIdFrom(EARLIER, "a", "order 1"),
      timedIdFrom(EARLIER, "b", "order 0"),
      timedIdFrom(LATER, "a", "order 0"),
    ];
    for (const id of made) expect(id).to.match(LOWER_UUID);
    expect(new Set(made).size).to.equal(made.length);
    expect(timedIdFrom(EARLIER, "a", "order 0")).to.equal(made[3]);
    expect(idFrom("a", "order 0")).to.equal(made[0]);
  });

  it("that have a time sort by it, before and after the time of any clock", () => {
    const times = [0, 1, EARLIER, LATER, 2 ** 48 - 1];
    const ids = times.map((ts, index) => timedIdFrom(ts, `command ${index}`, "order 0"));
    expect([...ids].sort()).to.deep.equal(ids);
    expect(ids[2]?.slice(0, 13)).to.equal("019b76da-a800");
  });
});
