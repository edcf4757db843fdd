/// <reference lib="dom" />
import { readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { expectSound, serveConsole } from "../../support/console/browser.js";

const BUILT = path.resolve(".build/console");
/** Largest first load in bytes, as gzip. */
const MOST = 150_000;

/** Returns the files of the first load: those that the page names, and all that their code imports at its start. */
function firstLoad(): ReadonlySet<string> {
  const page = readFileSync(path.join(BUILT, "index.html"), "utf8");
  const files = new Set(
    [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, file = ""]) => file),
  );
  // A set visits what is added during the loop.
  for (const file of files) {
    if (!file.endsWith(".js")) continue;
    const code = readFileSync(path.join(BUILT, file), "utf8");
    for (const [, imported = ""] of code.matchAll(/\b(?:from|import)\s*"\.\/([^"]+)"/g))
      files.add(`/assets/${imported}`);
  }
  return files;
}

describe("shell of the console", function () {
  this.timeout(60_000);
  const served = serveConsole();

  it("loads less than 150 kB before the first page", () => {
    const files = firstLoad();
    expect([...files].some((file) => file.endsWith(".css"))).to.equal(true);
    expect([...files].filter((file) => file.endsWith(".js"))).to.not.have.length(0);
    const sizes = [...files].map((file) => gzipSync(readFileSync(path.join(BUILT, file))).length);
    const total = sizes.reduce(
      (sum, size) => sum + size,
      gzipSync(readFileSync(path.join(BUILT, "index.html"))).length,
    );
    expect(total).to.be.within(10_000, MOST);
  });

  it("answers a visitor at /, on a narrow page too", async () => {
    const opened = await served.visit("/", { viewport: { width: 360, height: 740 } });
    await opened.page.getByRole("link", { name: "Overround" }).waitFor();
    const { scrollWidth, clientWidth } = await opened.page.evaluate(() => {
      const { documentElement: root } = document;
      return { scrollWidth: root.scrollWidth, clientWidth: root.clientWidth };
    });
    expect(scrollWidth).to.be.at.most(clientWidth);
    await expectSound(opened);
  });

  it("shows the page that was opened last, whichever code arrives first", async () => {
    const { page } = await served.visit("/login");
    let arrive: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    await page.route("**/assets/lab-*.js", async (route) => {
      await arrived;
      await route.continue();
    });
    await page.getByRole("link", { name: "Signature lab" }).click();
    // The footer is hidden until the code of a page has arrived; the header stays.
    await page.getByRole("banner").getByRole("link", { name: "Status" }).click();
    await page.getByRole("heading", { name: "Status", level: 1 }).waitFor();
    const answer = page.waitForResponse("**/assets/lab-*.js");
    arrive();
    await (await answer).finished();
    await page.waitForTimeout(300);
    expect(await page.getByRole("heading", { name: "Status", level: 1 }).count()).to.equal(1);
  });

  it("says to a person that there is no page at an address, and to a program that there is no route", async () => {
    const { url } = served.stack;
    const asked = async (accept: string) => {
      const answer = await fetch(`${url}/nowhere`, { headers: { Accept: accept } });
      return { status: answer.status, type: answer.headers.get("content-type")?.split(";")[0] };
    };
    expect(await asked("*/*")).to.deep.equal({ status: 404, type: "application/json" });
    expect(await asked("text/html,*/*;q=0.8")).to.deep.equal({ status: 404, type: "text/html" });
    const { page } = await served.visit("/login");
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    await page.goto("/nowhere");
    await page.getByText("There is no page at this address").waitFor();
  });

  it("says when the code of a page cannot be loaded, and tries again", async () => {
    const { page } = await served.visit("/login");
    await page.route("**/assets/lab-*.js", (route) => route.abort());
    await page.getByRole("link", { name: "Signature lab" }).click();
    await page.getByText("The code of this page could not be loaded.").waitFor();
    await page.unroute("**/assets/lab-*.js");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "Signature lab" }).waitFor();
  });

  it("reloads for a new release, unless the visitor has typed something", async () => {
    const { page } = await served.visit("/login");
    const email = page.getByLabel("E-mail");
    await email.fill("ann@example.com");
    let checks = 0;
    await page.route("**/release.json", async (route) => {
      checks += 1;
      await route.fulfill({ json: { release: "another" } });
    });
    const showAgain = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await showAgain();
    await page.waitForTimeout(300);
    expect([checks, await email.inputValue()]).to.deep.equal([0, "ann@example.com"]);
    await email.fill("");
    // The page itself fills fields without an event.
    await page.getByLabel("Password").evaluate((field: HTMLInputElement) => (field.value = "of the page"));
    const reloaded = page.waitForEvent("domcontentloaded");
    await showAgain();
    await reloaded;
  });

  it("serves the files of the pages for a year, and the document anew each time", async () => {
    const { url } = served.stack;
    const page = await fetch(url);
    expect(page.headers.get("cache-control")).to.equal("no-cache");
    expect(page.headers.get("content-security-policy")).to.contain("script-src 'self'");
    const html = await page.text();
    const script = /src="(\/assets\/[^"]+)"/.exec(html)?.[1];
    const asset = await fetch(`${url}${script}`);
    expect(asset.headers.get("cache-control")).to.contain("immutable");
    expect(asset.headers.get("content-encoding")).to.equal("gzip");
    const release = (await (await fetch(`${url}/release.json`)).json()) as { release: string };
    expect(html).to.contain(`name="overround-release" content="${release.release}"`);
    expect((await fetch(`${url}/assets/none.js`)).status).to.equal(404);
  });
});
