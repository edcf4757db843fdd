import { expect } from "chai";
import { WebSocket } from "ws";
import { createRoutes, type RouteParts } from "../../../http/routes.js";
import { emmRoutes } from "../../../http/surface-b/surface.js";
import { startStack, type Stack } from "../../support/stack.js";
import { resultOf } from "../calls.js";
import { send, type Answer } from "../requests.js";
import { answerOf, CREDENTIALS, isPublic, refusalOf, RULES, UPGRADE, type Rule } from "./contract.js";
import { sampleOf, spent, whoseOf } from "./samples.js";
import { makeWorld, type World } from "./world.js";

/** Stands for every part that the routes are created with: the declarations alone are read here, and no route runs. */
const anything: object = new Proxy(() => anything, { get: () => anything });
const ROUTES = [
  ...createRoutes(anything as RouteParts),
  ...emmRoutes("svc", anything as Parameters<typeof emmRoutes>[1]),
].map(({ method, path }) => `${method.toUpperCase()} ${path}`);

function ruleOf(line: string): Rule {
  const rule = RULES.get(line);
  if (rule === undefined) throw new Error(`the contract's table (contract.ts) has no line for ${line}`);
  return rule;
}

/** What each credential is told, for each resource, such as `T own: 200`. */
type Cells = Record<string, string>;

describe("every route, by every credential, for anybody's resources", function () {
  this.timeout(60_000);
  let stack: Stack;
  let world: World;
  let untouched = "";

  before(async () => {
    stack = await startStack();
    world = await makeWorld(stack);
    untouched = await world.state();
  });
  after(() => stack.stop());

  it("the service has the routes of the contract and no others", () => {
    expect([...RULES.keys()].sort()).to.deep.equal([...ROUTES].sort());
  });

  it("an upgrade to a websocket is a route like any other", async () => {
    const [told, expected]: [Cells, Cells] = [{}, {}];
    for (const credential of CREDENTIALS) {
      const { headers = {} } = bearer(credential)({ target: "/v3/ws" });
      told[credential] = await upgrade(stack.url, headers as Record<string, string>);
      expected[credential] = refusalOf(UPGRADE, credential) ?? UPGRADE.own;
    }
    expect(told).to.deep.equal(expected);
  });

  const bearer = (credential: (typeof CREDENTIALS)[number]) => {
    const found = world.credentials.get(credential);
    if (found === undefined) throw new Error(`nobody has the credential ${credential}`);
    return found;
  };

  describe("refuses", () => {
    for (const line of ROUTES.filter((route) => !isPublic(ruleOf(route)))) {
      it(line, async () => {
        const rule = ruleOf(line);
        const [told, expected]: [Cells, Cells] = [{}, {}];
        for (const credential of CREDENTIALS) {
          const refusal = refusalOf(rule, credential);
          if (refusal === undefined) continue;
          for (const whose of whoseOf(rule)) {
            const raw = await sampleOf(rule, world, whose, false);
            told[`${credential} ${whose}`] = resultOf(await send(stack.url, bearer(credential)(raw)));
            expected[`${credential} ${whose}`] = refusal;
          }
        }
        expect(told).to.deep.equal(expected);
      });
    }

    it("and none of it had an effect", async () => {
      expect(await world.state()).to.equal(untouched);
    });
  });

  describe("serves", () => {
    for (const line of ROUTES) {
      it(line, async () => {
        const rule = ruleOf(line);
        const [told, expected]: [Cells, Cells] = [{}, {}];
        for (const credential of CREDENTIALS) {
          if (refusalOf(rule, credential) !== undefined) continue;
          const texts = new Map<string, string>();
          // One's own comes last: it may take away what the others are asked for beside.
          for (const whose of whoseOf(rule).toReversed()) {
            const raw = await sampleOf(rule, world, whose, true);
            const token = await spent(rule, credential, world);
            const good = token === undefined ? bearer(credential)(raw) : bearing(raw, token);
            const answer = await send(stack.url, good);
            expect(answer.headers.has("set-cookie")).to.equal(false);
            told[`${credential} ${whose}`] = resultOf(answer);
            expected[`${credential} ${whose}`] = answerOf(rule, credential, whose);
            if (whose === "own" && !line.includes("/emm/")) {
              told[`${credential} pays`] = priceOf(answer);
              expected[`${credential} pays`] = rule.price;
            }
            texts.set(whose, answer.text);
          }
          if (rule.elsewhere !== undefined && texts.has("foreign") && !line.includes("batch")) {
            const named = (whose: string): string => (texts.get(whose) ?? "").replace(/[0-9a-f-]{36}/g, "");
            expect(named("foreign"), `${credential}: foreign and missing are told alike`).to.equal(
              named("missing"),
            );
          }
        }
        expect(told).to.deep.equal(expected);
      });
    }
  });
});

/** What an answer says it cost, such as `read 1`. */
function priceOf({ headers }: Answer): string {
  const bucket = headers.get("x-ratelimit-bucket");
  return bucket === undefined ? "-" : `${bucket} ${headers.get("x-ratelimit-cost") ?? ""}`;
}

/** Opens a websocket: 101, or the status and the code of the refusal. */
function upgrade(url: string, headers: Record<string, string>): Promise<string> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws`, { headers });
  return new Promise((resolve, reject) => {
    socket.on("open", () => {
      socket.terminate();
      resolve("101");
    });
    socket.on("unexpected-response", (_, answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        const { code } = JSON.parse(Buffer.concat(chunks).toString()) as { code: string };
        resolve(`${answer.statusCode ?? 0} ${code}`);
      });
    });
    socket.on("error", reject);
  });
}

function bearing<R extends object>(raw: R, token: string): R & { headers: Record<string, string> } {
  return { ...raw, headers: { Authorization: `Bearer ${token}` } };
}
