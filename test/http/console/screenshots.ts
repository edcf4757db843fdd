/**
 * Takes pictures of every page of the console, in two widths and both appearances: of an exchange whose demo trades, of an
 * empty one, and of one whose service does not answer. `npm run screenshots` writes them into `.build/screenshots`, and
 * with `--readme` the two that open the README into `.github/`.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { PATHS } from "../../../http/console/app/paths.js";

const TARGET = path.resolve(".build/screenshots");
const OPERATOR = { email: "operator@example.com", password: "operator password" };
const WIDTHS = {
  wide: { viewport: { width: 1_440, height: 900 } },
  narrow: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};
const THEMES = ["light", "dark"] as const;
/** Time in which the demo gives a market some history. */
const HISTORY_MS = 40_000;
const READY_MS = 120_000;
const SETTLE_MS = 1_500;
const PATIENCE_MS = 90_000;

const { values: wishes } = parseArgs({
  options: {
    readme: { type: "boolean", default: false },
    only: { type: "string" },
    history: { type: "string", default: String(HISTORY_MS) },
  },
});

/**
 * Returns true for a page that `--only` names: `--only market,operator` takes `market`, `market-trading` and all pages of
 * operators.
 */
function isWished(name: string): boolean {
  return wishes.only?.split(",").some((wish) => name === wish || name.startsWith(`${wish}-`)) ?? true;
}

/** Page to show: its name, its address, and who is signed in. */
interface Shot {
  readonly name: string;
  readonly address: string;
  readonly as: "visitor" | "trader" | "operator";
  /** Steps of the person on the page before the picture. */
  readonly act?: (page: Page) => Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** An exchange as `npm start` runs it. */
class Exchange {
  private constructor(
    readonly origin: string,
    private readonly child: ChildProcess,
    private readonly data: string,
  ) {}

  static async start(env: Readonly<Record<string, string>>): Promise<Exchange> {
    const port = await freePort();
    const data = mkdtempSync(path.join(os.tmpdir(), "overround-screenshots-"));
    const child = spawn(process.execPath, ["scripts/setup.mjs", "start"], {
      stdio: "ignore",
      env: {
        ...process.env,
        PORT: String(port),
        DATA_DIR: data,
        OPERATOR_EMAIL: OPERATOR.email,
        OPERATOR_PASSWORD: OPERATOR.password,
        ...env,
      },
    });
    const exchange = new Exchange(`http://127.0.0.1:${port}`, child, data);
    const endMs = Date.now() + READY_MS;
    while (!(await exchange.isReady())) {
      if (Date.now() > endMs) throw new Error("the exchange did not become ready");
      await sleep(500);
    }
    return exchange;
  }

  private async isReady(): Promise<boolean> {
    return fetch(`${this.origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async read<T>(address: string): Promise<T> {
    return (await (await fetch(this.origin + address)).json()) as T;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGINT");
    await ended;
    rmSync(this.data, { recursive: true, force: true });
  }
}

let registered = 0;

/** Signs in through the pages, as a person does. Without the demo, a trader registers first. */
async function signIn(page: Page, as: Shot["as"], hasDemo: boolean): Promise<void> {
  if (as === "visitor") return;
  if (as === "trader" && !hasDemo) {
    registered += 1;
    await page.goto("/register");
    await page.getByLabel("E-mail").fill(`trader${registered}@example.com`);
    await page.getByLabel("Password").fill("a long password");
    await page.getByRole("main").getByRole("button", { name: "Register" }).click();
  } else if (as === "trader") {
    await page.goto("/");
    await page
      .getByRole("button", { name: /demo trader/i })
      .first()
      .click();
  } else {
    await page.goto("/login");
    await page.getByLabel("E-mail").fill(OPERATOR.email);
    await page.getByLabel("Password", { exact: true }).fill(OPERATOR.password);
    await page.getByRole("main").getByRole("button", { name: "Log in" }).click();
  }
  await page.getByRole("button", { name: "Log out", exact: true }).waitFor();
}

/** Buys what the welcome offers, and follows it to its market. */
async function buyFirst(page: Page): Promise<void> {
  await page.goto("/");
  const welcome = page.getByRole("region", { name: "Welcome" });
  await welcome.getByRole("button", { name: /^Buy/ }).click();
  await welcome.getByRole("link", { name: "See the market" }).click();
  await page.waitForURL("**/markets/*");
}

/** Fills in the ticket with an order that rests, and asks for its preview. */
async function preview(page: Page): Promise<void> {
  const ticket = page.getByRole("form", { name: "Order ticket" });
  await ticket.getByLabel("Price", { exact: true }).fill("0.100");
  await ticket.getByLabel("Contracts", { exact: true }).fill("250");
  await ticket.getByRole("button", { name: /^Preview: buy/ }).click();
  await ticket.locator("[type=submit][aria-disabled=false]", { hasText: "Place" }).waitFor();
}

/** Places the order of the preview, so that an own order rests in the market. */
async function rest(page: Page): Promise<void> {
  await preview(page);
  await page.getByRole("button", { name: /^Place: buy/ }).click();
  await page.locator(".ticket-orders tr", { hasText: "resting" }).first().waitFor();
}

/** Asks for a preview of an order that no demo trader can pay. */
async function overreach(page: Page): Promise<void> {
  const ticket = page.getByRole("form", { name: "Order ticket" });
  await ticket.getByLabel("Price", { exact: true }).fill("0.100");
  await ticket.getByLabel("Contracts", { exact: true }).fill("90000000");
  await ticket.getByRole("button", { name: /^Preview: buy/ }).click();
  await sleep(SETTLE_MS);
}

/** Sends the form of the page with an address and a password that no account has. */
async function sendForm(page: Page): Promise<void> {
  const main = page.getByRole("main");
  await main.getByLabel("E-mail").fill("nobody@example.com");
  await main.getByLabel("Password", { exact: true }).fill("wrong");
  await main.locator("[type=submit]").click();
  await sleep(SETTLE_MS);
}

async function take(page: Page, shot: Shot, state: string, looks: string): Promise<void> {
  const folder = path.join(TARGET, state);
  mkdirSync(folder, { recursive: true });
  await page.goto(shot.address);
  await page
    .locator(".skeleton")
    .first()
    .waitFor({ state: "detached", timeout: 10_000 })
    .catch(() => undefined);
  await shot.act?.(page);
  await sleep(SETTLE_MS);
  await page.screenshot({ path: path.join(folder, `${shot.name}-${looks}.png`), fullPage: true });
}

/** Opens a context for each look, signs in once, and takes every picture. */
async function takeAll(
  browser: Browser,
  exchange: Exchange,
  state: string,
  shots: readonly Shot[],
  prepare: (context: BrowserContext) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const wanted = shots.filter(({ name }) => isWished(name));
  for (const [width, device] of Object.entries(WIDTHS)) {
    for (const colorScheme of THEMES) {
      for (const as of ["visitor", "trader", "operator"] as const) {
        const own = wanted.filter((shot) => shot.as === as);
        if (own.length === 0) continue;
        const context = await browser.newContext({ baseURL: exchange.origin, ...device, colorScheme });
        context.setDefaultTimeout(PATIENCE_MS);
        const page = await context.newPage();
        await signIn(page, as, state !== "empty");
        if (state === "busy" && as === "trader") {
          await buyFirst(page);
          await rest(page);
        }
        await prepare(context);
        for (const shot of own) await take(page, shot, state, `${width}-${colorScheme}`);
        await context.close();
        console.log(`${state}: ${as}, ${width}, ${colorScheme}`);
      }
    }
  }
}

/** Pages of visitors and traders that the table of pages does not name. */
const UNNAMED: readonly Shot[] = [
  ...["orders", "fills", "transactions", "break"].map((tab): Shot => ({
    name: `portfolio-${tab}`,
    address: `/portfolio?show=${tab}`,
    as: "trader",
  })),
  { name: "not-found", address: "/nowhere", as: "visitor" },
  { name: "login-refused", address: "/login", as: "visitor", act: sendForm },
  { name: "register-refused", address: "/register", as: "visitor", act: sendForm },
];

/** Pages of operators, and tabs of them, that the day has no link to. */
const FURTHER = [
  "/operator/events/new",
  "/operator/money/wallets",
  ...["maintenance", "leagues", "players", "ticks", "makers", "strikes", "regions"].map(
    (tab) => `/operator/reference?show=${tab}`,
  ),
  ...["clocks", "quarantine", "figures"].map((tab) => `/operator/safety?show=${tab}`),
];

/** Returns the pages without parameters, and a market. Pages of operators below a section are listed by their links. */
async function shotsOf(browser: Browser, exchange: Exchange): Promise<Shot[]> {
  const { items } = await exchange.read<{ items: { marketId: string }[] }>(
    "/v3/public/catalog/markets?limit=1",
  );
  const shots: Shot[] = PATHS.filter((address) => !address.includes(":")).map((address) => ({
    name: address === "/" ? "markets" : address.slice(1),
    address,
    as:
      address === "/operator"
        ? "operator"
        : ["/portfolio", "/keys", "/account"].includes(address)
          ? "trader"
          : "visitor",
  }));
  shots.push(...UNNAMED);
  for (const { marketId } of items)
    for (const as of ["visitor", "trader"] as const)
      shots.push({
        name: as === "visitor" ? "market" : "market-trading",
        address: `/markets/${marketId}`,
        as,
      });
  const context = await browser.newContext({ baseURL: exchange.origin });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await signIn(page, "operator", true);
  const linksOn = async (address: string, start: string): Promise<string[]> => {
    await page.goto(address);
    await sleep(SETTLE_MS);
    return page
      .locator(`a[href^="${start}"]`)
      .evaluateAll((found) => found.map((link) => link.getAttribute("href") ?? ""));
  };
  const links = await linksOn("/operator", "/operator/");
  const traders = await linksOn("/operator/desk", "/operator/desk/");
  const event = links.find((link) => link.startsWith("/operator/events/"));
  const grades = event === undefined ? [] : await linksOn(event, "/operator/settlement/");
  await context.close();
  for (const address of new Set([...links, ...traders.slice(0, 1), ...grades.slice(0, 1), ...FURTHER]))
    shots.push({ name: address.slice(1).replaceAll(/[/?=]/g, "-").slice(0, 40), address, as: "operator" });
  return shots;
}

/** Takes the two pictures that open the README, in the size of a window. */
async function takeForReadme(browser: Browser, exchange: Exchange, shots: readonly Shot[]): Promise<void> {
  for (const [name, colorScheme] of [
    ["markets", "light"],
    ["market-trading", "dark"],
  ] as const) {
    const shot = shots.find((one) => one.name === name);
    if (shot === undefined) continue;
    const context = await browser.newContext({
      baseURL: exchange.origin,
      viewport: { width: 1_280, height: 800 },
      colorScheme,
    });
    const page = await context.newPage();
    context.setDefaultTimeout(PATIENCE_MS);
    await signIn(page, shot.as, true);
    if (shot.as === "trader") await buyFirst(page);
    else await page.goto(shot.address);
    await sleep(2 * SETTLE_MS);
    await page.screenshot({ path: path.resolve(".github", `${name}.png`) });
    await context.close();
  }
}

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const busy = await Exchange.start({});
try {
  await sleep(Number(wishes.history));
  const shots = await shotsOf(browser, busy);
  if (wishes.readme) await takeForReadme(browser, busy, shots);
  else {
    const tickets = shots
      .filter(({ name }) => name === "market-trading")
      .flatMap((shot) => [
        { ...shot, name: "ticket", act: preview },
        { ...shot, name: "ticket-refused", act: overreach },
      ]);
    await takeAll(browser, busy, "busy", [...shots, ...tickets]);
    await takeAll(browser, busy, "failing", shots, (context) =>
      Promise.all([
        context.route("**/v3/**", (route) => route.abort()),
        context.route("**/admin/**", (route) => route.abort()),
      ]),
    );
  }
} finally {
  await busy.stop();
}
if (!wishes.readme) {
  const empty = await Exchange.start({ DEMO: "off" });
  try {
    await takeAll(browser, empty, "empty", await shotsOf(browser, empty));
  } finally {
    await empty.stop();
  }
}
await browser.close();
