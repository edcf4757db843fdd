import { expect } from "chai";
import { isUnanswered, sendOnce } from "../../../../http/console/data/attempts.js";
import { Refusal, UNREACHABLE } from "../../../../http/console/data/refusal.js";

describe("repeats of a request that takes effect once", () => {
  const ids: string[] = [];
  const rejection = (run: Promise<unknown>) =>
    run.then(
      () => expect.fail("the request was answered"),
      () => undefined,
    );
  const answered = (id: string) => Promise.resolve(ids.push(id));
  const refused = (status: number, code: string) => (id: string) => {
    ids.push(id);
    return Promise.reject(new Refusal(status, code, code));
  };
  const unanswered = refused(0, UNREACHABLE);
  beforeEach(() => ids.splice(0));

  it("keep the id until there is an answer, also when a repeat is refused", async () => {
    await rejection(sendOnce("a", unanswered));
    await rejection(sendOnce("a", refused(401, "TIMESTAMP_OUT_OF_RANGE")));
    expect(isUnanswered("a")).to.equal(true);
    await sendOnce("a", answered);
    expect(new Set(ids)).to.have.length(1);
    await sendOnce("a", answered);
    expect(new Set(ids)).to.have.length(2);
  });

  it("have an id of their own for another content, and after a definite refusal", async () => {
    await rejection(sendOnce("c", unanswered));
    await rejection(sendOnce("b", refused(409, "MARKET_PAUSED")));
    expect([isUnanswered("c"), isUnanswered("b")]).to.deep.equal([true, false]);
    await sendOnce("b", answered);
    expect(new Set(ids)).to.have.length(3);
  });
});
