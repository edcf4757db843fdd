import { expect } from "chai";
import { Idempotency, type Attempt } from "../../../http/auth/idempotency.js";
import { Seal } from "../../../http/auth/seal.js";
import type { KeyCaller } from "../../../http/request/callers.js";
import { Refused } from "../../../http/request/errors.js";
import type { ClaimResult } from "../../../stream/services/first-answers.js";

describe("a request whose answer its route remembers", () => {
  const caller = { key: { keyId: "k" }, commandId: "x" } as KeyCaller;
  let claims: string[];
  let routesRemember: boolean;
  let claimed: ClaimResult;

  const claim = {
    answer: () => Promise.resolve(void claims.push("answered")),
    noEffect: () => Promise.resolve(void claims.push("released")),
    outcomeUnknown: () => Promise.resolve(void claims.push("in doubt")),
  };
  const idempotency = new Idempotency({
    answers: {
      claim: () => {
        claims.push("claimed");
        return Promise.resolve(claimed);
      },
    },
    seal: new Seal("secret", "tests"),
    routesRemember: () => routesRemember,
    onError: (error) => expect.fail(String(error)),
  });

  beforeEach(() => {
    claims = [];
    routesRemember = true;
    claimed = { kind: "claimed", resumed: false, claim };
  });

  async function begin(): Promise<Extract<Attempt, { kind: "first" }>> {
    const attempt = await idempotency.beginRemembered(caller);
    if (attempt.kind !== "first") throw new Error("the request has an answer");
    return attempt;
  }

  async function refusal(): Promise<unknown> {
    try {
      await idempotency.beginRemembered(caller);
      return undefined;
    } catch (error) {
      return error instanceof Refused ? error.code : error;
    }
  }

  it("answers a repeat at the same gateway without its route, until newer answers take the room", async () => {
    const answered = (commandId: string): Promise<Attempt> =>
      idempotency.beginRemembered({ ...caller, commandId });
    const body = "x".repeat(1_048_576);
    const answer = { status: 201, headers: {}, body };
    const { first } = await begin();
    await first.keep(answer);
    expect(await answered("x")).to.deep.equal({ kind: "repeat", answer });
    for (let n = 0; n < 8; n += 1) {
      const other = await answered(`other ${n}`);
      if (other.kind === "first") await other.first.keep(answer);
    }
    expect((await answered("other 7")).kind).to.equal("repeat");
    const again = await begin();
    await again.first.abandon();
    expect(claims).to.deep.equal([]);
  });

  it("runs once at a time at a gateway, and is not kept", async () => {
    for (const end of ["keep", "fail", "abandon"] as const) {
      const { first } = await begin();
      expect(await refusal()).to.equal("REQUEST_IN_PROGRESS");
      if (end === "keep") await first.keep(undefined);
      else if (end === "fail") await first.fail(new Refused("MARKET_CLOSED"));
      else await first.abandon();
    }
    expect(claims).to.deep.equal([]);
  });

  it("is claimed and kept too until all gateways let the route remember", async () => {
    routesRemember = false;
    const { first } = await begin();
    routesRemember = true;
    expect(await refusal()).to.equal("REQUEST_IN_PROGRESS");
    await first.fail(new Refused("MARKET_CLOSED"));
    expect(claims).to.deep.equal(["claimed", "answered"]);

    routesRemember = false;
    claimed = { kind: "running" };
    expect(await refusal()).to.equal("REQUEST_IN_PROGRESS");
    claimed = { kind: "answered", answer: "" };
    expect((await idempotency.beginRemembered(caller)).kind).to.equal("repeat");
    routesRemember = true;
    await (await begin()).first.keep(undefined);
  });
});
