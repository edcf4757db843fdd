import { expect } from "chai";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import type { Credentials } from "../../../../http/client/client.js";
import type { OperatorRole } from "../../../../db/schema/operator-roles.js";
import { freePort } from "../../../../scripts/embedded/ports.js";
import { expectSound, serveConsole, type WatchedPage } from "../../../support/console/browser.js";
import { visitAsOperator } from "../../../support/console/operator.js";
import { addOperator } from "../../../support/operators.js";
import { login } from "../../../support/stack.js";
import { newMarket, newTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { callsOf, operatorCalls } from "../../calls.js";

const WIDE = { viewport: { width: 1440, height: 900 } };
const NARROW = { viewport: { width: 360, height: 740 } };
const PAID = "$0.40 is paid to 1 wallet.";

describe("the operators' day in the console", function () {
  this.timeout(90_000);
  const served = serveConsole({ settlementApprovals: 2 });

  const visitAs = (
    operator: Credentials,
    role: OperatorRole,
    address: string,
    options: BrowserContextOptions = WIDE,
  ): Promise<WatchedPage> => visitAsOperator(served, operator, role, address, options);

  const button = (place: Page | Locator, name: string): Locator =>
    place.getByRole("button", { name, exact: true });
  const row = (page: Page, text: string): Locator => page.getByRole("row").filter({ hasText: text });
  const shown = (page: Page, text: string): Promise<void> => page.getByText(text).first().waitFor();

  /** Two traders: 40 contracts of each side are matched, and 60 of the first side rest. */
  async function trade(outcomes: readonly string[]): Promise<void> {
    const { stack } = served;
    const [maker, taker] = await Promise.all([newTrader(stack), newTrader(stack)]);
    const bid = { price: "0.600", qty: 100, tif: "GTC", outcomeId: outcomes[0] };
    expect((await callsOf(stack.url, maker.trading)("POST /v3/orders", bid)).status).to.equal(201);
    const taken = { price: "0.400", qty: 40, tif: "IOC", outcomeId: outcomes[1] };
    expect((await callsOf(stack.url, taker.trading)("POST /v3/orders", taken)).status).to.equal(201);
  }

  it("creates, goes live, pauses, grades by two people and remediates", async () => {
    const { stack } = served;
    const reviewer = await addOperator(stack, "settlement");
    const first = await visitAs(stack.operatorLogin, "owner", "/operator");
    const { page } = first;
    await shown(page, "No event of this week is open");
    await expectSound(first);

    // An event with its winner, three spreads and two totals, created once by a double click.
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await button(page, "New event").click();
    await page.getByLabel("League").selectOption("NFL");
    await page.getByLabel("Home side").fill("Bees");
    await page.getByLabel("Away side").fill("Ants");
    await page.getByLabel("Spreads").fill("-3.5 to 0.5 by 2");
    await page.getByLabel("Totals").fill("44.5, 47.5");
    await shown(page, "Bees -1.5");
    await expectSound(first);
    await button(page, "Create the event and 6 markets").dblclick();
    await page.getByRole("heading", { name: "Ants at Bees" }).waitFor();
    await row(page, "Total 47.5").waitFor();
    expect(await page.getByRole("checkbox", { name: /^Choose / }).count()).to.equal(6);
    const operator = await operatorCalls(stack);
    const { items: events } = (await operator("GET /admin/v1/events")).json as { items: object[] };
    expect(events).to.have.lengthOf(1);

    // Going live cancels what rests, and says so first.
    const { items: markets } = (await operator("GET /admin/v1/markets")).json as {
      items: { marketType: string; outcomes: { outcomeId: string }[] }[];
    };
    const winner = markets.find(({ marketType }) => marketType === "MONEY");
    await trade(winner?.outcomes.map(({ outcomeId }) => outcomeId) ?? []);
    await row(page, "Bees v Ants: winner").getByRole("cell", { name: "$0.40" }).waitFor();
    await button(page, "Go live").click();
    await shown(page, "1 open order with 60 unfilled contracts is canceled.");
    await expectSound(first);
    await button(page.getByRole("dialog"), "Go live").click();
    await row(page, "Bees v Ants: winner").getByText("open, in play").waitFor();

    // A pause of two markets at once.
    await page.getByRole("checkbox", { name: "Choose Bees v Ants: winner" }).check();
    await page.getByRole("checkbox", { name: "Choose Total 44.5" }).check();
    await button(page, "Pause").click();
    await shown(page, "2 markets paused.");
    await row(page, "Bees v Ants: winner").getByText("paused").waitFor();
    await expectSound(first);

    // The first operator grades.
    await page.getByRole("link", { name: "Grade Bees v Ants: winner" }).click();
    await page.getByLabel("Bees wins").check();
    await shown(page, PAID);
    // The close of the market can change the payouts, so the page reads them again.
    const readAgain = page.waitForRequest(/\/grade\?preview=true$/);
    await button(page, "Close the market").click();
    await shown(page, "No open order is canceled.");
    await button(page.getByRole("dialog"), "Close the market").click();
    await readAgain;
    await shown(page, PAID);
    const payouts = await page.getByRole("region", { name: "Payouts of the grade" }).innerText();
    await button(page, "Grade the market").click();
    await shown(page, "Bees wins.");
    await expectSound(first);
    await button(page.getByRole("dialog"), "Grade").click();
    await page.getByRole("heading", { name: "Grade that waits for a second operator" }).waitFor();
    expect(await button(page, "Approve the grade").getAttribute("title")).to.contain("another operator");

    // The second one sees the same payouts, and approves.
    const second = await visitAs(reviewer, "settlement", "/operator/settlement");
    await row(second.page, "waits for approval").getByRole("link").click();
    await shown(second.page, stack.operatorLogin.email);
    await shown(second.page, PAID);
    expect(await second.page.getByRole("region", { name: "Payouts of the grade" }).innerText()).to.equal(
      payouts,
    );
    await expectSound(second);
    await button(second.page, "Approve the grade").click();
    await button(second.page.getByRole("dialog"), "Approve").click();
    await second.page.getByRole("heading", { name: "Settled", exact: true }).waitFor();

    // The first one takes the settlement back, and sees the difference that the corrected result will make.
    await page.getByRole("heading", { name: "Settled", exact: true }).waitFor();
    await button(page, "Take the settlement back").click();
    await shown(page, "$0.40 is taken back from 1 wallet.");
    await page.getByLabel("Ants wins").check();
    await shown(page, "2 wallets: $0.40 more in all, and $0.40 less.");
    await button(page, "Remediate").click();
    const confirm = button(page.getByRole("dialog"), "Remediate");
    await confirm.click();
    await shown(page, "Say why first; the audit log keeps the reason.");
    await page.getByLabel("Reason").fill("the score was corrected");
    await expectSound(first);
    await confirm.click();
    await shown(page, "The remediation waits for a second operator");

    // The second one sees what it takes back, and approves it.
    await second.page.goto("/operator/settlement");
    const waiting = second.page.getByRole("article", { name: "Take a settlement back" });
    expect(await button(waiting, "Approve").getAttribute("title")).to.contain("Look at what it does first");
    // The approval is locked until its effect is shown.
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await second.page.route(/\/remediate\?preview=true$/, async (route) => {
      await answered;
      await route.continue();
    });
    await button(waiting, "Show what it does").click();
    expect(await button(waiting, "Approve").getAttribute("title")).to.contain("not there yet");
    answer();
    await shown(second.page, "$0.40 is taken back from 1 wallet.");
    await shown(second.page, "the score was corrected");
    await expectSound(second);
    await button(waiting, "Approve").click();
    await expectSound(second);
    await button(second.page.getByRole("dialog"), "Approve").click();
    await shown(second.page, "No action waits");
    await button(page, "Grade the market").waitFor();
    expect((await stack.operator.money()).agree).to.equal(true);
  });

  it("draws the last hour beside each role and each promise, as the service has kept it", async () => {
    const operator = await operatorCalls(served.stack);
    await until(
      () => operator("GET /admin/v1/health/history"),
      ({ json }) => (json["items"] as unknown[]).length > 0,
    );
    const opened = await visitAs(served.stack.operatorLogin, "owner", "/operator");
    for (const label of ["Roles", "Promises"]) {
      const rows = opened.page.getByRole("region", { name: label }).locator("tbody tr");
      await rows.first().getByRole("img").waitFor();
      for (const line of await rows.all()) {
        const name = await line.getByRole("cell").first().innerText();
        // Nobody measures the disk of this exchange.
        if (name === "Head-room of disk") await line.getByText("no samples").waitFor();
        else
          expect(await line.getByRole("img").getAttribute("aria-label")).to.match(
            new RegExp(`^${name} in the last hour: `),
          );
      }
    }
    await expectSound(opened);
  });

  it("shows the day with its alerts and the health, on a narrow page too", async () => {
    const opened = await visitAs(served.stack.operatorLogin, "owner", "/operator", NARROW);
    const { page } = opened;
    await shown(page, "Ants at Bees");
    await row(page, "Money difference").getByText("$0.00", { exact: true }).waitFor();
    const { scrollWidth, clientWidth } = await page.evaluate(() => {
      const { documentElement: root } = document;
      return { scrollWidth: root.scrollWidth, clientWidth: root.clientWidth };
    });
    expect(scrollWidth).to.be.at.most(clientWidth);
    const name = await page.getByRole("link", { name: "Overround" }).boundingBox();
    const out = await button(page, "Log out").boundingBox();
    expect(out?.y, "the header begins with one line").to.be.below((name?.y ?? 0) + (name?.height ?? 0));
    await expectSound(opened);
    await page.route("**/admin/v1/settlements", (route) => route.abort());
    await page.reload();
    await shown(page, "Cannot be read now: settlements.");
    await row(page, "Money difference").getByText("$0.00", { exact: true }).waitFor();
    expect(await page.getByText("Nothing needs attention.").count()).to.equal(0);
  });

  it("disables what the role of the operator does not allow, and says why", async () => {
    const { stack } = served;
    const { eventId, marketId } = await newMarket(stack);
    const viewer = await addOperator(stack, "viewer");
    const opened = await visitAs(viewer, "viewer", `/operator/events/${eventId}`);
    const { page } = opened;
    await row(page, "Who wins").waitFor();
    for (const name of ["Go live", "Cancel the event", "Pause", "Correct", "Correct Who wins"]) {
      const found = button(page, name);
      expect(await found.getAttribute("aria-disabled"), name).to.equal("true");
      expect(await found.getAttribute("title"), name).to.contain("Your role is viewer");
    }
    await expectSound(opened);
    await page.goto(`/operator/settlement/${marketId}`);
    await page.getByLabel("Ants wins").check();
    await shown(page, "You see no payouts. Your role is viewer");
    expect(await button(page, "Grade the market").getAttribute("title")).to.contain("Your role is viewer");
  });

  it("keeps a refused action with its reason, beside the refusal", async () => {
    const { stack } = served;
    const { eventId } = await newMarket(stack);
    const operator = await operatorCalls(stack);
    const { page } = await visitAs(stack.operatorLogin, "owner", `/operator/events/${eventId}`);
    await button(page, "Delay").click();
    await page.getByLabel("Reason").fill("fog over the stadium");
    await operator(`POST /admin/v1/events/${eventId}/status`, { action: "close" });
    await button(page.getByRole("dialog"), "Delay").click();
    await shown(page, "INVALID_TRANSITION");
    expect(await page.getByLabel("Reason").inputValue()).to.equal("fog over the stadium");
  });

  it("creates an event and its markets once, although answers are lost", async () => {
    const { page } = await visitAs(served.stack.operatorLogin, "owner", "/operator/events/new");
    const lost = new Set<string>();
    await page.route(/\/admin\/v1\/(events|markets)$/, async (route) => {
      const { pathname } = new URL(route.request().url());
      if (route.request().method() !== "POST" || lost.has(pathname)) return route.continue();
      lost.add(pathname);
      await route.fetch();
      return route.abort();
    });
    await page.getByLabel("League").selectOption("NFL");
    await page.getByLabel("Home side").fill("Wasps");
    await page.getByLabel("Away side").fill("Moths");
    await page.getByLabel("Totals").fill("41.5");
    const create = button(page, "Create the event and 2 markets");
    await create.click();
    await shown(page, "UNREACHABLE");
    await create.click();
    await shown(page, "1 market created, 1 refused:");
    await page.getByLabel("Totals").fill("42.5");
    await create.click();
    await page.getByRole("heading", { name: "Moths at Wasps" }).waitFor();
    const operator = await operatorCalls(served.stack);
    const { items: events } = (await operator("GET /admin/v1/events")).json as {
      items: { eventId: string; description: string }[];
    };
    const made = events.filter(({ description }) => description === "Moths at Wasps");
    expect(made).to.have.lengthOf(1);
    const { json } = await operator(`GET /admin/v1/markets?event=${made[0]?.eventId}`);
    const names = (json["items"] as { description: string }[]).map(({ description }) => description);
    expect(names.toSorted()).to.deep.equal(["Total 41.5", "Total 42.5", "Wasps v Moths: winner"]);
  });

  it("corrects an event and a market, and cancels an event with a second operator", async () => {
    const { stack } = served;
    const { eventId, marketId } = await newMarket(stack);
    const visit = await visitAs(stack.operatorLogin, "owner", `/operator/events/${eventId}`);
    const { page } = visit;
    await button(page, "Correct").click();
    const description = page.getByLabel("Description");
    await description.fill("Ants at Bees, moved to the fourth Sunday of November");
    const fit = await description.evaluate((input) => [input.scrollWidth, input.clientWidth] as const);
    expect(fit[0], "width of the description, which is shown whole").to.be.at.most(fit[1]);
    await description.fill("Ants at Bees, moved");
    await expectSound(visit);
    await page.getByLabel("Visible to traders and visitors").uncheck();
    await button(page, "Save the changes").click();
    await page.getByRole("heading", { name: "Ants at Bees, moved" }).waitFor();
    await button(page, "Correct Who wins").click();
    await page.getByRole("dialog").getByLabel("In-play delay, ms").fill("2000");
    await expectSound(visit);
    await button(page, "Save the changes").click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    const operator = await operatorCalls(stack);
    expect((await operator(`GET /admin/v1/events/${eventId}`)).json).to.include({ visible: false });
    expect((await operator(`GET /admin/v1/markets/${marketId}`)).json).to.include({ liveDelayMs: 2_000 });
    await button(page, "Cancel the event").click();
    await shown(page, "1 market without a fair price");
    await page.getByLabel("Reason").fill("the season has ended");
    await button(page.getByRole("dialog"), "Cancel the event").click();
    await shown(page, "The cancel waits for a second operator");
  });
});

describe("the console of an operator without a second factor", function () {
  this.timeout(60_000);
  const served = serveConsole({ operatorsNeedTotp: true });

  it("leads to the enrollment when the service asks for it", async () => {
    const { stack } = served;
    const token = await login(stack.url, stack.operatorLogin);
    const session = { token, expiresAt: Date.now() + 3_600_000, accountId: "", role: "operator", email: "" };
    const localStorage = [{ name: "overround.session", value: JSON.stringify(session) }];
    const storageState = { cookies: [], origins: [{ origin: stack.url, localStorage }] };
    const { page } = await served.visit("/operator", { storageState });
    await page.waitForURL("**/operator/people/enroll");
  });
});

describe("the console on a port for operators", function () {
  this.timeout(60_000);
  const otherPorts: { admin?: number } = {};
  before(async () => {
    otherPorts.admin = await freePort();
  });
  const served = serveConsole({ otherPorts });

  it("signs an operator in, and offers the operators' pages alone", async () => {
    const { email, password } = served.stack.operatorLogin;
    const opened = await served.visit("/", {
      ...WIDE,
      baseURL: `http://127.0.0.1:${otherPorts.admin}`,
    });
    const { page } = opened;
    await page.waitForURL("**/login?next=%2Foperator");
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("heading", { name: "Today" }).waitFor();
    await page.getByText("Nothing needs attention.").waitFor();
    const links = await page.getByRole("banner").getByRole("link").allInnerTexts();
    expect(links).to.deep.equal(["Overround", "Operator", email]);
    await expectSound(opened);
  });

  it("has no page for operators on the port for clients", async () => {
    const { url } = served.stack;
    expect((await fetch(`${url}/operator`)).status).to.equal(404);
    expect((await fetch(url)).status).to.equal(200);
  });
});
