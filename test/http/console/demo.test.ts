import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Session, type Credentials } from "../../../http/client/client.js";
import { expectSound, serveConsole } from "../../support/console/browser.js";
import { login } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { bearerCalls, callsOf, type Calls } from "../calls.js";

const VISITOR: Credentials = { email: "visitor@demo.example", password: "the password of the demo" };

describe("the demo in the page", function () {
  this.timeout(60_000);
  let isOpen = false;
  const served = serveConsole({ demoLogin: () => (isOpen ? VISITOR : undefined) });
  let traderId = "";
  let maker: Calls;
  let outcomes: readonly [string, string];

  before(async () => {
    const { stack } = served;
    const session = new Session(stack.connect(), VISITOR);
    ({ traderId } = await session.register());
    await stack.operator.verifyTrader(traderId);
    await session.checkIn("US-NY");
    ({ outcomes } = await newMarket(stack));
    maker = callsOf(stack.url, (await newTrader(stack)).trading);
  });

  const offer = async (): Promise<void> => {
    const order = { outcomeId: outcomes[1], price: "0.600", qty: 500, tif: "GTC", clientId: randomUUID() };
    expect((await maker("POST /v3/orders", order)).status).to.equal(201);
  };
  const session = async (): Promise<Calls> =>
    bearerCalls(served.stack.url, await login(served.stack.url, VISITOR));

  it("logs in with one click once the demo has opened its account, and buys with the next one", async () => {
    const opened = await served.visit("/", { viewport: { width: 360, height: 740 } });
    const { page } = opened;
    const button = page.getByRole("button", { name: "Log in as the demo trader" });
    await button.waitFor();
    expect(await button.getAttribute("aria-disabled")).to.equal("true");
    // The region of the reason is there before its text, so that screen readers announce the text.
    const reason = page.getByRole("region", { name: "Welcome" }).getByRole("status");
    expect(await reason.textContent()).to.equal("");
    await button.click({ force: true });
    await reason.getByText("The demo opens its account; that takes a moment.").waitFor();
    isOpen = true;
    await page.locator("button.button-main[aria-disabled=false]").waitFor();
    await expectSound(opened);
    await button.click();
    await page.getByText("Nothing is offered now").waitFor();
    await offer();
    const buy = page.getByRole("button", { name: "Buy 100 Ants at 0.400" });
    await buy.waitFor();
    await page.getByText("costs $0.40, pays $1.00 if Ants wins").waitFor();
    await expectSound(opened);
    // A second click while the first one is on its way buys nothing more.
    await buy.dblclick();
    await page.getByText("Bought: 100 Ants are yours.").waitFor({ timeout: 15_000 });
    await expectSound(opened);

    const visitor = await session();
    const { json } = await visitor("GET /v3/account/subaccounts");
    const [web] = json as unknown as { keyId: string; label: string }[];
    expect(web).to.include({ label: "Web" });
    const fills = await visitor(`GET /v3/portfolio/fills?subaccount=${web?.keyId ?? ""}`);
    expect(fills.json["items"]).to.have.length(1);
    const { json: audit } = await bearerCalls(
      served.stack.url,
      await served.stack.operatorToken(),
    )(`GET /admin/v1/audit-log?subject=${traderId}&action=trader.transaction`);
    expect(audit["items"], "money of the faucet").to.have.length(1);
  });

  it("says when its next step cannot be loaded, and tries again", async () => {
    const opened = await served.visit("/status");
    const { page } = opened;
    await page.route("**/assets/next-step-*.js", (route) => route.abort());
    await page.goto("/");
    await page.getByText("The next step could not be loaded.").waitFor();
    await page.unroute("**/assets/next-step-*.js");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Log in as the demo trader" }).waitFor();
    await expectSound(opened);
  });

  it("stays hidden for who has hidden it", async () => {
    const { page } = await served.visit("/");
    await page.getByRole("button", { name: "Hide" }).click();
    await page.reload();
    await page.getByRole("link", { name: "Overround" }).waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.getByRole("region", { name: "Welcome" }).count()).to.equal(0);
  });

  it("gives play money on the page of the account", async () => {
    const { json: before } = await (await session())("GET /v3/session");
    expect(before["cash"]).to.include({ CASH: "0.00000" });
    const opened = await served.visit("/");
    await opened.page.getByRole("button", { name: "Log in as the demo trader" }).click();
    await opened.page.getByRole("link", { name: VISITOR.email }).click();
    await opened.page.getByRole("button", { name: "Get $1,000 of play money" }).click();
    await opened.page.getByText("$1,000.00", { exact: true }).waitFor();
    await expectSound(opened);
  });

  it("gives play money to the subaccount that the portfolio shows", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await page.getByRole("button", { name: "Log in as the demo trader" }).click();
    await page.getByRole("link", { name: "Portfolio" }).click();
    const money = page.getByRole("row", { name: "Web" }).getByRole("cell").nth(1);
    await page.getByRole("button", { name: "Get $1,000 of play money for Web" }).waitFor();
    const dollars = async (): Promise<number> =>
      Number(((await money.textContent()) ?? "").replace(/[$,]/g, ""));
    const before = await dollars();
    expect(before).to.be.above(0);
    await page.getByRole("button", { name: "Get $1,000 of play money for Web" }).click();
    await until(dollars, (now) => Math.abs(now - before - 1_000) < 0.001);
    await expectSound(opened);
  });
});

describe("the page without the demo", function () {
  this.timeout(60_000);
  const served = serveConsole({ exchangeEnv: "qa" });

  it("has no welcome, and asks for none", async () => {
    const opened = await served.visit("/");
    const asked: string[] = [];
    opened.page.on("request", (request) => asked.push(request.url()));
    await opened.page.reload();
    await opened.page.getByRole("link", { name: "Overround" }).waitFor();
    await opened.page.waitForLoadState("networkidle");
    expect(await opened.page.getByRole("region", { name: "Welcome" }).count()).to.equal(0);
    expect(asked.filter((url) => url.includes("demo"))).to.deep.equal([]);
  });
});
