/// <reference lib="dom" />
/** Chromium for the tests of the console. Every page that it opens is watched for what no page may do. */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { exclusively } from "../../../scripts/supervisor/setup-lock.mjs";
import { startStack, type Stack, type StackOptions } from "../stack.js";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const INSTALL_LOCK = path.resolve(".cache/chromium.lock");
/** Longest time in ms of an installation on a busy machine. */
const INSTALL_MS = 240_000;
const CONSOLE = path.resolve("http/console");
const BUILT = path.resolve(".build/console/index.html");
const BUNDLER = path.resolve("node_modules/vite/bin/vite.js");
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

function findProgram(): string | undefined {
  return PROGRAMS.find((program) => existsSync(program));
}

/**
 * Installs the Chromium of Debian or Ubuntu, for which the tests have to run as root. Of several runs of tests that find
 * none, one installs it and the others wait.
 */
function installProgram(): void {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  const apt = (...args: string[]): void => {
    execFileSync("apt-get", ["-qq", ...args], {
      stdio: "ignore",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  };
  const onWait = (holder: number): void => console.error(`process ${holder} installs Chromium`);
  exclusively(INSTALL_LOCK, { waitMs: INSTALL_MS, onWait }, () => {
    if (findProgram() !== undefined) return;
    apt("update");
    apt("install", "--yes", "--no-install-recommends", "chromium");
  });
}

function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Math.max(...files.map((file) => statSync(path.join(folder, file)).mtimeMs));
}

/**
 * Builds the console when its sources are newer than what is built. The bundler runs in a process of its own: under the
 * loader of the tests it leaves out the code that loads the style sheet of a page.
 */
function buildConsole(): void {
  const sources = [CONSOLE, path.resolve("http/client"), path.resolve("http/auth")];
  if (existsSync(BUILT) && statSync(BUILT).mtimeMs > Math.max(...sources.map(newest))) return;
  const bundling = [BUNDLER, "build", CONSOLE, "--config", path.join(CONSOLE, "vite.config.ts")];
  execFileSync(process.execPath, bundling);
}

/** Starts Chromium, or skips the tests where there is none and it cannot be installed. */
export async function startBrowser(test: Mocha.Context): Promise<Browser> {
  test.timeout(2 * INSTALL_MS);
  if (findProgram() === undefined) {
    try {
      installProgram();
    } catch (error) {
      console.error(`Chromium cannot be installed: ${String(error)}`);
    }
  }
  const executablePath = findProgram();
  if (executablePath === undefined) return test.skip();
  buildConsole();
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** A page, and what it did that no page of the console may do. */
export interface WatchedPage {
  readonly page: Page;
  readonly problems: string[];
}

/**
 * Opens an address of the console at `origin` in a browser context of its own, as another visitor would. Errors in the
 * console of the browser, violations of the content security policy and requests to other origins become problems.
 */
async function openPage(
  browser: Browser,
  origin: string,
  address = "/",
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: origin, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    // Chromium writes a line for each answer that is no success; the page shows such a refusal itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.host === new URL(origin).host || ["data:", "blob:"].includes(url.protocol);
    if (!isOwn) problems.push(`request to another origin: ${request.url()}`);
  });
  await page.goto(address);
  return { page, problems };
}

/** Throws the problems of a page, among them what axe-core finds that is serious. */
export async function expectSound({ page, problems }: WatchedPage): Promise<void> {
  // The debugger evaluates the checker; a script of the page would violate the content security policy.
  await page.evaluate(readFileSync(AXE, "utf8"));
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: {
        run: () => Promise<{
          violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `axe ${id}: ${target.join(" ")} ${failureSummary}`),
      );
  });
  const all = [...problems, ...found];
  if (all.length > 0) throw new Error(`${page.url()} has problems:\n${all.join("\n")}`);
}

/** An exchange with its console, and Chromium to visit it. */
export interface ServedConsole {
  readonly stack: Stack;
  /** Opens an address in a browser context of its own, as another visitor would; `baseURL` names another port. */
  visit(address?: string, options?: BrowserContextOptions): Promise<WatchedPage>;
}

/** Starts an exchange and Chromium before the tests of a suite, and stops both after them. */
export function serveConsole(options: StackOptions = {}): ServedConsole {
  let browser: Browser | undefined;
  let stack: Stack | undefined;
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error("the exchange and the browser start before the tests");
    return part;
  };
  before(async function () {
    browser = await startBrowser(this);
    stack = await startStack(options);
  });
  after(async () => {
    await browser?.close();
    await stack?.stop();
  });
  return {
    get stack() {
      return started(stack);
    },
    visit: (address, context) =>
      openPage(started(browser), context?.baseURL ?? started(stack).url, address, context),
  };
}
