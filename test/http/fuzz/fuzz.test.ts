import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import { expect } from "chai";
import fc from "fast-check";
import { Signer } from "../../../http/client/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import type { Raw } from "../requests.js";
import { isPublic, RULES, type Credential, type Rule } from "../matrix/contract.js";
import { hasBody, sampleOf } from "../matrix/samples.js";
import { makeWorld, type World } from "../matrix/world.js";
import { flood, type Reply } from "../../../scripts/bench/flood.js";
import {
  bodyChange,
  byteChange,
  changed,
  cursor,
  garbled,
  headerChange,
  query,
  segment,
  spoilt,
} from "./inputs.js";

/** Number of inputs of each kind, and their seed; the first line of a failure names both. */
const INPUTS = Number(process.env["FUZZ_INPUTS"] ?? 4_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const CHUNK = 1_000;
const LANES = 24;
/** Greatest accepted growth of the heap under refused requests, which must leave nothing in memory. */
const GROWTH_BYTES = 32 * 2 ** 20;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

type Pairs = readonly (readonly [string, string])[];

function bytesOf(method: string, target: string, headers: Pairs, body: string | undefined): Buffer {
  const payload = Buffer.from(body ?? "");
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${payload.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), payload]);
}

describe(`${INPUTS} inputs of each kind (FUZZ_SEED=${SEED})`, function () {
  this.timeout(300_000);
  let stack: Stack;
  let world: World;
  const signers = new Map<Credential, Signer>();
  const rules = [...RULES.values()];
  const guarded = rules.filter((rule) => !isPublic(rule));
  const anyRule: Rule = { line: "GET /", callers: [], cost: "free", own: "", elsewhere: undefined };
  const nothing: { readonly rule: Rule; readonly raw: Raw } = { rule: anyRule, raw: { target: "/" } };
  const lists = rules.filter(({ line }) => line.startsWith("GET "));

  before(async () => {
    stack = await startStack();
    world = await makeWorld(stack);
    signers.set("trading", new Signer(world.trader.trading.key, stack.brand));
    signers.set("management", new Signer(world.trader.management.key, stack.brand));
  });
  after(() => stack.stop());

  const callerOf = ({ callers }: Rule): Credential =>
    (["none", "trading", "management", "operator", "session", "client"] as const).find((one) =>
      callers.includes(one),
    ) ?? "none";

  /** Returns the bytes of a request with a good credential for its route. */
  async function allowed(rule: Rule, { method = "GET", target, body }: Raw): Promise<Buffer> {
    const text = body?.toString();
    const type: Pairs = text === undefined ? [] : [["Content-Type", "application/json"]];
    return bytesOf(
      method,
      target,
      [...type, ...(await credentials(callerOf(rule), method, target, text ?? ""))],
      text,
    );
  }

  async function credentials(
    credential: Credential,
    method: string,
    target: string,
    body: string,
  ): Promise<Pairs> {
    const signer = signers.get(credential);
    if (signer !== undefined) {
      const [path = "", ...rest] = target.split("?");
      return Object.entries(await signer.headers(method, path, rest.join("?"), Buffer.from(body)));
    }
    const { headers = {} } = world.credentials.get(credential)?.({ method, target }) ?? {};
    return Object.entries(headers as Record<string, string>);
  }

  /** Makes inputs in chunks, sends them and checks every answer. */
  async function attack<Input>(
    inputs: fc.Arbitrary<Input>,
    make: (input: Input) => Buffer | Promise<Buffer>,
    isGood: (reply: Reply, input: Input) => boolean,
    alone = false,
  ): Promise<Map<number, number>> {
    const seen = new Map<number, number>();
    for (let done = 0; done < INPUTS; done += CHUNK) {
      const chunk = fc.sample(inputs, { seed: SEED + done, numRuns: Math.min(CHUNK, INPUTS - done) });
      const requests = await Promise.all(chunk.map(async (input) => make(input)));
      await flood({
        url: stack.url,
        lanes: LANES,
        requests,
        alone,
        check: (index, reply) => {
          const input = chunk[index];
          seen.set(reply.status, (seen.get(reply.status) ?? 0) + 1);
          if (input !== undefined && reply.status < 500 && isGood(reply, input)) return;
          const sent = requests[index]?.toString("latin1").slice(0, 2_000) ?? "";
          throw new Error(`FUZZ_SEED=${SEED}, input ${done + index}: ${reply.status} ${reply.text}\n${sent}`);
        },
      });
    }
    return seen;
  }

  const samples = async (from: readonly Rule[]): Promise<{ rule: Rule; raw: Raw }[]> =>
    Promise.all(from.map(async (rule) => ({ rule, raw: await sampleOf(rule, world, "own", false) })));

  const isRefused = ({ status }: Reply): boolean => status === 0 || status >= 400;

  describe("without a good credential", () => {
    let untouched = "";
    let heapBytes = 0;

    before(async () => {
      untouched = await world.state();
      collectGarbage();
      heapBytes = process.memoryUsage().heapUsed;
    });

    it("no signature or header is accepted", async () => {
      const targets = await samples(guarded);
      const inputs = fc.record({ which: fc.nat(targets.length - 1), change: headerChange });
      const seen = await attack(
        inputs,
        async ({ which, change }) => {
          const { rule, raw } = targets[which] ?? nothing;
          const body = raw.body?.toString();
          const good = await credentials(callerOf(rule), raw.method ?? "GET", raw.target, body ?? "");
          const chosen = change.name % good.length;
          const headers = good.flatMap(([name, value], index): Pairs =>
            index === chosen ? spoilt(value, change).map((line) => [name, line] as const) : [[name, value]],
          );
          const type: Pairs = body === undefined ? [] : [["Content-Type", "application/json"]];
          return bytesOf(raw.method ?? "GET", raw.target, [...type, ...headers], body);
        },
        isRefused,
      );
      expect(seen.get(401)).to.be.greaterThan(INPUTS * 0.9);
    });

    it("no path but that of a route or of a page is served", async () => {
      // Every page is the same document, which holds nothing about anyone.
      const page = await (await fetch(stack.url)).text();
      const inputs = fc.record({ which: fc.nat(rules.length - 1), segment, at: fc.nat(15) });
      await attack(
        inputs,
        ({ which, segment: put, at }) => {
          const rule = rules[which] ?? anyRule;
          const [method = "", path = ""] = rule.line.split(" ");
          const filled = path.replace(/^\/svc\//, `/${stack.prefix}/`);
          const clean = put.replace(/[ \r\n]/g, "+");
          // With a good credential a parameter of the path is changed, without one any segment.
          if (at % 2 === 0) {
            const target = path.includes(":") ? filled.replace(/:\w+/g, clean) : `${filled}/${clean}`;
            return allowed(rule, { method: "GET", target });
          }
          const segments = filled.split("/");
          segments.splice(1 + (at % segments.length), at % 4 === 1 ? 1 : 0, clean);
          return bytesOf(method, segments.join("/") || "/", [], undefined);
        },
        (reply) => isRefused(reply) || reply.text === page,
      );
    });

    it("no bytes stop the server or are accepted", async () => {
      const good = (await samples(guarded)).map(({ raw }) => {
        const body = raw.body?.toString();
        const type: Pairs = body === undefined ? [] : [["Content-Type", "application/json"]];
        return bytesOf(raw.method ?? "GET", raw.target, [...type, ["Authorization", "Bearer a.b.c"]], body);
      });
      const inputs = fc.record({ which: fc.nat(good.length - 1), changes: byteChange });
      await attack(
        inputs,
        ({ which, changes }) => garbled(good[which] ?? Buffer.alloc(0), changes),
        isRefused,
        true,
      );
    });

    it("no input had an effect, or left anything in memory", async () => {
      expect(await world.state()).to.equal(untouched);
      collectGarbage();
      expect(process.memoryUsage().heapUsed - heapBytes).to.be.below(GROWTH_BYTES);
    });
  });

  describe("with a good credential", () => {
    it("no body fails the service", async () => {
      // Each request hashes a password, which is slow by design; another one would end the session of the tests.
      const bodied = rules.filter(
        ({ line }) => hasBody(line) && !/operators|\/session(\/password)?$/.test(line),
      );
      const targets = await samples(bodied);
      const inputs = fc.record({ which: fc.nat(targets.length - 1), change: bodyChange });
      const seen = await attack(
        inputs,
        ({ which, change }) => {
          const { rule, raw } = targets[which] ?? nothing;
          const body = changed(JSON.parse(raw.body?.toString() ?? "{}"), change);
          return allowed(rule, { ...raw, body });
        },
        ({ status }) => status >= 200,
      );
      expect(seen.get(400)).to.be.greaterThan(INPUTS / 2);
    });

    it("no query fails the service", async () => {
      const targets = await samples(lists);
      const inputs = fc.record({ which: fc.nat(targets.length - 1), query });
      await attack(
        inputs,
        ({ which, query: text }) => {
          const { rule, raw } = targets[which] ?? nothing;
          return allowed(rule, { ...raw, target: `${raw.target.split("?")[0] ?? ""}?${text}` });
        },
        ({ status }) => status >= 200,
      );
    });

    it("no cursor fails the service", async () => {
      const paged = lists.filter(({ line }) =>
        /\/(events|markets|trades|changelog|orders|fills|transactions|traders|emm-clients|strike-requests|players|audit-log|keys|check-ins|all)$/.test(
          line,
        ),
      );
      const targets = await samples(paged);
      const inputs = fc.record({ which: fc.nat(targets.length - 1), cursor });
      await attack(
        inputs,
        ({ which, cursor: after }) => {
          const { rule, raw } = targets[which] ?? nothing;
          return allowed(rule, { ...raw, target: `${raw.target}?limit=2&after=${after}` });
        },
        ({ status }) => status >= 200,
      );
    });

    it("the actors and Postgres hold the same money", async () => {
      const report = await stack.operator.money();
      expect(report.agree).to.equal(true);
    });
  });
});
