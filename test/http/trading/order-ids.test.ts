import { expect } from "chai";
import { LOWER_UUID } from "../../../actors/uuid.js";
import { OrderIds } from "../../../http/trading/order-ids.js";

const TS = Date.UTC(2026, 0, 1);
/** The times of ids are rounded to a multiple of this number of milliseconds. */
const GRAIN_MS = 4_096;

describe("ids of orders", () => {
  it("are UUIDs that a repeat has again, and no other request, order, time or secret", () => {
    const ids = new OrderIds("secret");
    const made = [
      ids.of({ commandId: "a", ts: TS }, "order 0"),
      ids.of({ commandId: "a", ts: TS }, "order 1"),
      ids.of({ commandId: "b", ts: TS }, "order 0"),
      ids.of({ commandId: "a", ts: TS + GRAIN_MS }, "order 0"),
      new OrderIds("another secret").of({ commandId: "a", ts: TS }, "order 0"),
    ];
    for (const id of made) expect(id).to.match(LOWER_UUID);
    expect(new Set(made).size).to.equal(made.length);
    expect(new OrderIds("secret").of({ commandId: "a", ts: TS }, "order 0")).to.equal(made[0]);
  });

  it("sort by their times, from 1970 to the last time that 48 bits hold", () => {
    const ids = new OrderIds("secret");
    const times = [0, GRAIN_MS, TS, TS + GRAIN_MS, 2 ** 48 - 1];
    const made = times.map((ts, index) => ids.of({ commandId: `command ${index}`, ts }, "order 0"));
    expect([...made].sort()).to.deep.equal(made);
  });

  it("tell the time to some seconds, and differ within them", () => {
    const ids = new OrderIds("secret");
    const begin = TS - (TS % GRAIN_MS);
    const timesOf = [0, 1, GRAIN_MS - 1].map((ms) => {
      const id = ids.of({ commandId: `command ${ms}`, ts: begin + ms }, "order 0");
      return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
    });
    for (const time of timesOf) expect(time).to.be.within(begin, begin + GRAIN_MS - 1);
    expect(new Set(timesOf).size).to.equal(timesOf.length);
  });
});
