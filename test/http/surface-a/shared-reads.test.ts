import { expect } from "chai";
import { SharedReads } from "../../../http/surface-a/market/shared-reads.js";

describe("reads that callers share", () => {
  const KEEP_MS = 40;

  it("reads once for the callers of a short time, and anew after it", async () => {
    let reads = 0;
    const shared = new SharedReads((key) => Promise.resolve(`${key} ${(reads += 1)}`), KEEP_MS);
    expect(await Promise.all([shared.get("ants"), shared.get("ants"), shared.get("bees")])).to.deep.equal([
      "ants 1",
      "ants 1",
      "bees 2",
    ]);
    await new Promise((resolve) => setTimeout(resolve, 2 * KEEP_MS));
    expect(await shared.get("ants")).to.equal("ants 3");
  });

  it("serves no caller with a read that has failed before", async () => {
    let reads = 0;
    const shared = new SharedReads(() => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error("away")) : Promise.resolve(reads);
    }, 60_000);
    const failed = await Promise.all(
      [shared.get("ants"), shared.get("ants")].map((one) => one.catch(String)),
    );
    expect(failed).to.deep.equal(["Error: away", "Error: away"]);
    expect(await shared.get("ants")).to.equal(2);
  });
});
