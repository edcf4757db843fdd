/// <reference lib="dom" />
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Page, WebSocketRoute } from "playwright-core";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { newQuoter, newWorld, type Quoter, type World } from "../../../support/console/quotes.js";
import { signedIn } from "../../../support/console/signed-in.js";
import { newTrader, type TestTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { callsOf } from "../../calls.js";

describe("market page of a trader", function () {
  this.timeout(60_000);
  const served = serveConsole();
  let world: World;
  let ann: Quoter;
  let trader: TestTrader;
  const sockets: WebSocketRoute[] = [];

  before(async () => {
    world = await newWorld(served.stack);
    ann = await newQuoter(served.stack);
    trader = await newTrader(served.stack);
    await ann.quote(world.knicks.winner, [[["0.620", 300]], [["0.375", 300]]]);
  });

  const line = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

  /** Moves money to the subaccount Web, which the page has opened. */
  async function fundWeb(): Promise<void> {
    const { stack } = served;
    await stack.operator.deposit(trader.account.traderId, "50", "funds of Web", randomUUID());
    const manage = callsOf(stack.url, trader.management);
    const { json } = await manage("GET /v3/account/subaccounts");
    const web = (json as unknown as { keyId: string; label: string }[]).find(({ label }) => label === "Web");
    const body = { direction: "fund", amount: "50" };
    await manage(`POST /v3/account/subaccounts/${web?.keyId}/transfer`, body);
  }

  it("follows the stream, and marks the own orders with their place in the queue", async () => {
    const opened = await served.visit("/status", await signedIn(served.stack, trader));
    const { page } = opened;
    await page.routeWebSocket(/\/v3\/ws/, (socket) => {
      socket.connectToServer();
      sockets.push(socket);
    });
    await page.goto(`/markets/${world.knicks.winner.marketId}`);
    await page.getByText("· every second").waitFor();
    await page.getByRole("button", { name: "Open Web" }).click();
    await page.getByText("· live").waitFor();
    await fundWeb();

    // The stream locks the page at once, although the catalog does not answer yet.
    const { operator } = served.stack;
    const catalog = `**/v3/public/catalog/markets/${world.knicks.winner.marketId}`;
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page.route(catalog, async (route) => {
      await answered;
      await route.continue().catch(() => undefined);
    });
    const banner = page.getByText("Paused. No new orders are taken");
    const lock = page.getByText("The market is paused. The ticket is locked until it goes on.");
    await operator.setMarketStatus(world.knicks.winner.marketId, "pause");
    await banner.waitFor();
    await lock.waitFor();
    const read = page.waitForResponse(catalog);
    answer();
    await (await read).finished();
    await page.unroute(catalog);
    expect([await banner.count(), await lock.count()]).to.deep.equal([1, 1]);
    await operator.setMarketStatus(world.knicks.winner.marketId, "resume");
    await page.getByText("The market is paused.").waitFor({ state: "detached" });

    await line(page, "Buy Knicks at 0.620 300 bid").click();
    await page.getByRole("textbox", { name: "Contracts" }).fill("10");
    await page.getByRole("textbox", { name: "Contracts" }).press("Enter");
    await page.getByRole("button", { name: "Place: buy 10 Knicks at 0.620" }).waitFor();
    // A preview is placed once it can have been read.
    await page.waitForTimeout(500);
    await page.getByRole("textbox", { name: "Contracts" }).press("Enter");
    await line(page, "Buy Knicks at 0.620 310 bid yours 10 #2").waitFor();
    await expectSound(opened);

    // A stream that is refused at its start is tried again, and the wallet counts as unknown until then.
    let refusals = 0;
    await page.route("**/v3/ws/tickets", async (route) => {
      refusals += 1;
      await route.fulfill({ status: 403, json: { code: "FORBIDDEN", message: "Not now." } });
    });
    sockets.splice(0);
    await page.reload();
    await page.getByText("Your orders here are being read.").waitFor();
    await until(() => refusals > 1);
    expect(await page.getByText("No order of yours rests here.").count()).to.equal(0);
    expect(await page.getByText("You hold nothing here.").count()).to.equal(0);
    await page.unroute("**/v3/ws/tickets");
    await page.getByText("· live").waitFor();
    await line(page, "Buy Knicks at 0.620 310 bid yours 10 #2").waitFor();
    await page.getByText("Your orders here are being read.").waitFor({ state: "detached" });

    // A lost connection is said, and heals with what was missed.
    await ann.quote(world.knicks.winner, [[["0.600", 70]], []]);
    await line(page, "Buy Knicks at 0.600 70 bid").waitFor();
    await page.context().setOffline(true);
    for (const socket of sockets.splice(0)) await socket.close();
    await page.getByText(/Connection lost\. What is shown is \d+ s old/).waitFor();
    await ann.quote(world.knicks.winner, [[["0.600", 5]], []]);
    await page.context().setOffline(false);
    await line(page, "Buy Knicks at 0.600 75 bid").waitFor();
    await page.getByText("· live").waitFor();
    await line(page, "Buy Knicks at 0.620 310 bid yours 10 #2").waitFor();
  });
});
