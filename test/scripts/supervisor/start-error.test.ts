import { expect } from "chai";
import { describe as describeError, StartError } from "../../../scripts/supervisor/start-error.js";

describe("the message of a failure", () => {
  it("is the text of the error alone when it names a remedy", () => {
    expect(describeError(new StartError("set PORT"))).to.equal("set PORT");
  });

  it("names the remedy when the disk is full", () => {
    const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(describeError(error)).to.equal(
      "ENOSPC: no space left on device, write: free space on that disk, or set DATA_DIR to another one",
    );
  });

  it("has the stack of an error without a known remedy", () => {
    expect(describeError(new TypeError("x is undefined")))
      .to.include("TypeError: x is undefined")
      .and.to.include("at ");
    expect(describeError("text")).to.equal("text");
  });
});
