import { expect } from "chai";
import fc from "fast-check";
import { OPERATOR_ROLES } from "../../../db/schema/operator-roles.js";
import { takeFaults } from "../../support/documented.js";
import { addOperator } from "../../support/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { operatorCalls } from "../calls.js";
import { RULES, type Rule } from "../matrix/contract.js";
import { hasBody, sampleOf, whoseOf } from "../matrix/samples.js";
import { byToken, makeWorld, type Bearer, type World } from "../matrix/world.js";
import { send, type Raw } from "../requests.js";
import { bodyChange, changed, cursor, query, segment } from "./inputs.js";

/** Number of requests of the long form, in which every route is called. */
const LONG_FORM = 20_000;
/** Number of requests; `CROWD_REQUESTS=20000` is the long form. The first line of a failure names the seed. */
const REQUESTS = Number(process.env["CROWD_REQUESTS"] ?? 500);
const SEED = Number(process.env["CROWD_SEED"] ?? Date.now() % 2 ** 31);
/** Requests by one crowd: keys are revoked, sessions end and traders are locked, so a new crowd comes after them. */
const CHUNK = 4_000;
const LANES = 16;
/** Worlds of a crowd, each with 18 credentials. */
const WORLDS = 6;
/** Numbers of the credentials that a crowd has at least. */
const CREDENTIALS = 100;

/** Routes that end sessions of their caller. All worlds have the same operator, who makes what the requests use up. */
const ENDS_SESSIONS = /^(DELETE \/v3\/sessions?|POST \/v3\/session\/(password|totp))$/;

/** A request: by whom, to which route, about whose things, and what is wrong with it. */
const input = fc.record({
  credential: fc.nat(),
  /** True for a credential that the route admits. */
  fits: fc.integer({ min: 1, max: 4 }).map((one) => one > 1),
  rule: fc.nat(),
  world: fc.nat(),
  whose: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat() }),
  isFresh: fc.integer({ min: 1, max: 10 }).map((one) => one === 1),
  how: fc.constantFrom("good", "good", "good", "body", "body", "query", "cursor", "path"),
  body: bodyChange,
  query,
  cursor,
  segment,
});
type Input = typeof input extends fc.Arbitrary<infer One> ? One : never;

interface Crowd {
  readonly worlds: readonly World[];
  readonly credentials: readonly Bearer[];
}

describe(`${REQUESTS} requests of a hundred credentials (CROWD_SEED=${SEED})`, function () {
  this.timeout(60_000 + 60 * REQUESTS);
  let stack: Stack;
  const rules = [...RULES.values()];

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  async function newCrowd(): Promise<Crowd> {
    const worlds: World[] = [];
    for (let made = 0; made < WORLDS; made += 1) worlds.push(await makeWorld(stack));
    const operators: Bearer[] = [];
    for (const role of OPERATOR_ROLES)
      operators.push(byToken(await login(stack.url, await addOperator(stack, role))));
    return {
      worlds,
      credentials: [...worlds.flatMap((world) => [...world.credentials.values()]), ...operators],
    };
  }

  /** Undoes what requests of operators do to everybody. */
  async function tidyUp(prices: unknown): Promise<void> {
    const operator = await operatorCalls(stack);
    await operator("POST /admin/v1/maintenance", { action: "end" });
    await operator("PUT /admin/v1/geo", { restrictedRegions: [], networks: [] });
    await operator("PUT /admin/v1/ticks", { prices });
  }

  async function rawOf(rule: Rule, world: World, one: Input): Promise<Raw> {
    const { how } = one;
    const owners = whoseOf(rule);
    const whose = owners[one.whose % owners.length] ?? "own";
    // Others may have used up the market or the trader that a new resource needs.
    const fresh = one.isFresh ? await sampleOf(rule, world, whose, true).catch(() => undefined) : undefined;
    const raw = fresh ?? (await sampleOf(rule, world, whose, false));
    const path = raw.target.split("?")[0] ?? "";
    switch (how) {
      case "good":
        return raw;
      case "body":
        return hasBody(rule.line)
          ? { ...raw, body: changed(JSON.parse(raw.body?.toString() ?? "{}"), one.body) }
          : { ...raw, body: one.body.value };
      case "query":
        return { ...raw, target: `${path}?${one.query}` };
      case "cursor":
        return { ...raw, target: `${path}?limit=2&after=${one.cursor}` };
      case "path":
        return {
          ...raw,
          target: `${path.slice(0, path.lastIndexOf("/"))}/${one.segment.replace(/[ \r\n]/g, "+")}`,
        };
      default:
        return how satisfies never;
    }
  }

  it("are answered as the document says, and never with 5xx but 503", async () => {
    const statuses = new Map<number, number>();
    const lines = new Set<string>();
    const wrong: string[] = [];
    const { json } = await (await operatorCalls(stack))("GET /admin/v1/ticks");
    let used = 0;
    for (let done = 0; done < REQUESTS; done += CHUNK) {
      const { worlds, credentials } = await newCrowd();
      expect(credentials.length).to.be.at.least(CREDENTIALS);
      const inputs = fc.sample(input, { seed: SEED + done, numRuns: Math.min(CHUNK, REQUESTS - done) });
      const seen = new Set<Bearer>();
      const lane = async (): Promise<void> => {
        for (let one = inputs.pop(); one !== undefined; one = inputs.pop()) {
          const rule = rules[one.rule % rules.length];
          const world = worlds[one.world % worlds.length];
          const any = credentials[one.credential % credentials.length];
          const bearer = one.fits && rule && world ? fitting(rule, world, one.credential) : any;
          if (rule === undefined || world === undefined || bearer === undefined)
            throw new Error("nothing to send");
          const raw = bearer(await rawOf(rule, world, one));
          const { status, headers, text } = await send(stack.url, raw);
          seen.add(bearer);
          lines.add(rule.line);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const isGood = status === 503 ? headers.has("retry-after") : status >= 200 && status < 500;
          if (!isGood)
            wrong.push(`${raw.method ?? "GET"} ${raw.target} ${String(raw.body)}: ${status} ${text}`);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      used = Math.max(used, seen.size);
      await tidyUp(json["prices"]);
      expect(wrong, `CROWD_SEED=${SEED}, up to request ${done + CHUNK}`).to.deep.equal([]);
      expect(takeFaults(), `CROWD_SEED=${SEED}, up to request ${done + CHUNK}`).to.deep.equal([]);
    }
    const counts = [...statuses]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`);
    console.log(`      ${lines.size} routes, ${used} credentials; ${counts.join(", ")}`);
    // The long form sends about a hundred requests to each route.
    if (REQUESTS >= LONG_FORM) expect(lines.size, "routes").to.equal(rules.length);
    expect(statuses.get(200)).to.be.greaterThan(REQUESTS / 20);
    const report = await stack.operator.money();
    expect(report.agree).to.equal(true);
  });
});

/** Returns a credential of the world that the route admits; not the operator's where that would end the session of all. */
function fitting({ line, callers }: Rule, world: World, which: number): Bearer | undefined {
  const admitted = ENDS_SESSIONS.test(line) ? callers.filter((caller) => caller !== "operator") : callers;
  return world.credentials.get(admitted[which % admitted.length] ?? "none");
}
