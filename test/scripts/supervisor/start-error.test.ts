import { expect } from "chai";
import { describe as told, StartError } from "../../../scripts/supervisor/start-error.js";

describe("a failure told to a person", () => {
  it("is its message alone when they can mend it", () => {
    expect(told(new StartError("set PORT"))).to.equal("set PORT");
  });

  it("names the remedy when the disk is full", () => {
    const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(told(error)).to.equal(
      "ENOSPC: no space left on device, write: free space on that disk, or set DATA_DIR to another one",
    );
  });

  it("is the whole story when nobody foresaw it", () => {
    expect(told(new TypeError("x is undefined")))
      .to.include("TypeError: x is undefined")
      .and.to.include("at ");
    expect(told("text")).to.equal("text");
  });
});
