import { expect } from "chai";
import { WebSocket } from "ws";
import { startStack, type Stack } from "../../support/stack.js";
import { resultOf } from "../calls.js";
import { H2C, send, type Answer, type Raw } from "../requests.js";
import { sentLast } from "../resources.js";
import {
  answerOf,
  chargeOf,
  CREDENTIALS,
  isPublic,
  refusalOf,
  ruleFor,
  RULES,
  UPGRADE,
  type Credential,
} from "./contract.js";
import { ROUTES } from "./routes.js";
import { sampleOf, spent, whoseOf } from "./samples.js";
import { makeWorld, type World } from "./world.js";

/** Answers by credential and owner of the resource, such as `trading own: 200`. */
type Cells = Record<string, string>;

describe("every route, by every credential, for resources of every owner", function () {
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
    expect([...RULES.keys()].sort()).to.deep.equal([...ROUTES.keys()].sort());
  });

  it("an upgrade to a websocket admits the same credentials as the contract", async () => {
    const [answers, expected]: [Cells, Cells] = [{}, {}];
    for (const credential of CREDENTIALS) {
      const { headers = {} } = bearer(credential)({ target: "/v3/ws" });
      answers[credential] = await upgrade(stack.url, headers as Record<string, string>);
      expected[credential] = refusalOf(UPGRADE, credential) ?? UPGRADE.own;
    }
    expect(answers).to.deep.equal(expected);
  });

  const bearer = (credential: Credential) => {
    const found = world.credentials.get(credential);
    if (found === undefined) throw new Error(`the world has no credential "${credential}"`);
    return found;
  };

  describe("refuses", () => {
    for (const line of [...ROUTES.keys()].filter((route) => !isPublic(ruleFor(route)))) {
      it(line, async () => {
        const rule = ruleFor(line);
        const [answers, expected]: [Cells, Cells] = [{}, {}];
        for (const credential of CREDENTIALS) {
          const refusal = refusalOf(rule, credential);
          if (refusal === undefined) continue;
          for (const whose of whoseOf(rule)) {
            const raw = await sampleOf(rule, world, whose, false);
            answers[`${credential} ${whose}`] = resultOf(await send(stack.url, bearer(credential)(raw)));
            expected[`${credential} ${whose}`] = refusal;
          }
        }
        expect(answers).to.deep.equal(expected);
      });
    }

    it("and no refused request had an effect", async () => {
      expect(await world.state()).to.equal(untouched);
    });
  });

  describe("serves to a client that asks for HTTP/2", () => {
    it("the public routes, over HTTP/1.1", async () => {
      const [answers, expected]: [Cells, Cells] = [{}, {}];
      for (const line of [...ROUTES.keys()].filter((route) => isPublic(ruleFor(route)))) {
        const raw = bearer("none")(await sampleOf(ruleFor(line), world, "own", true));
        const headers = { ...(raw.headers as Record<string, string> | undefined), ...H2C };
        answers[line] = resultOf(await send(stack.url, { ...raw, headers }));
        expected[line] = answerOf(ruleFor(line), "none", "own");
      }
      expect(answers).to.deep.equal(expected);
    });
  });

  describe("serves", () => {
    for (const line of [...ROUTES.keys()].toSorted((a, b) => sentLast(a) - sentLast(b))) {
      it(line, async () => {
        const rule = ruleFor(line);
        const [answers, expected]: [Cells, Cells] = [{}, {}];
        for (const credential of CREDENTIALS) {
          if (refusalOf(rule, credential) !== undefined) continue;
          const texts = new Map<string, string>();
          // The own resource comes last, because the request may remove what the other requests need.
          for (const whose of whoseOf(rule).toReversed()) {
            const raw = await sampleOf(rule, world, whose, true);
            const token = await spent(rule, credential, world);
            const good = token === undefined ? bearer(credential)(raw) : bearing(raw, token);
            const answer = await send(stack.url, good);
            expect(answer.headers.has("set-cookie")).to.equal(false);
            answers[`${credential} ${whose}`] = resultOf(answer);
            expected[`${credential} ${whose}`] = answerOf(rule, credential, whose);
            if (whose === "own" && !line.includes("/emm/")) {
              answers[`${credential} pays`] = chargedBy(answer);
              expected[`${credential} pays`] = chargeOf(rule, itemsOf(raw), rowsOf(answer));
            }
            texts.set(whose, answer.text);
          }
          if (rule.elsewhere !== undefined && texts.has("foreign") && !line.includes("batch")) {
            const named = (whose: string): string => (texts.get(whose) ?? "").replace(/[0-9a-f-]{36}/g, "");
            expect(named("foreign"), `${credential}: foreign and missing get the same answer`).to.equal(
              named("missing"),
            );
          }
        }
        expect(answers).to.deep.equal(expected);
      });
    }
  });
});

/** Returns the number of items in the list of a batch, or 1. */
function itemsOf({ body }: Raw): number {
  const { orders, orderIds } = JSON.parse(body?.toString() ?? "{}") as Readonly<Record<string, unknown[]>>;
  return (orders ?? orderIds)?.length ?? 1;
}

/** Returns the number of rows on the page that an answer is, or 0. */
function rowsOf({ json }: Answer): number {
  return Array.isArray(json["items"]) ? json["items"].length : 0;
}

/** Returns the charge that an answer names, such as `read 1`. */
function chargedBy({ headers }: Answer): string {
  const bucket = headers.get("x-ratelimit-bucket");
  return bucket === undefined ? "-" : `${bucket} ${headers.get("x-ratelimit-cost") ?? ""}`;
}

/** Opens a websocket. Returns `101`, or the status and the code of the refusal. */
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

function bearing(raw: Raw, token: string): Raw {
  const type = raw.body === undefined ? {} : { "Content-Type": "application/json" };
  return { ...raw, headers: { ...type, Authorization: `Bearer ${token}` } };
}
