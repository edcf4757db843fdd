/// <reference lib="dom" />
/** Chromium for the tests of the console. Every page that it opens is watched for what no page may do. */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { startStack, type Stack, type StackOptions } from "../stack.js";
import { findChromium, installChromium } from "./chromium.js";
import { takePictures } from "./pictures.js";

/** Longest start of the browser on a busy machine, in ms, and of its installation. */
const START_MS = 60_000;
const INSTALL_MS = 480_000;
const CONSOLE = path.resolve("http/console");
const BUILT = path.resolve(".build/console/index.html");
const BUNDLER = path.resolve("node_modules/vite/bin/vite.js");
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

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

let running: Promise<Browser> | undefined;

/** Returns the browser of this run of tests, which ends with the process. One that has died is replaced. */
async function sharedBrowser(executablePath: string): Promise<Browser> {
  const browser = await running?.catch(() => undefined);
  if (browser?.isConnected() === true) return browser;
  running = chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return running;
}

/** Starts Chromium, or skips the tests where there is none and it cannot be installed. */
export async function startBrowser(test: Mocha.Context): Promise<Browser> {
  test.timeout(START_MS);
  if (findChromium() === undefined) {
    test.timeout(INSTALL_MS);
    await installChromium();
  }
  const executablePath = findChromium();
  if (executablePath === undefined) return test.skip();
  buildConsole();
  return sharedBrowser(executablePath);
}

/** A page, and what it did that no page of the console may do. */
export interface WatchedPage {
  readonly page: Page;
  readonly problems: string[];
}

/**
 * Opens an address of the console at `origin` in the context of a visitor. Errors in the console of the browser, violations
 * of the content security policy and requests to other origins become problems.
 */
async function openPage(context: BrowserContext, origin: string, address = "/"): Promise<WatchedPage> {
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

/** Throws the problems of a page, among them what axe-core finds that is serious. Takes pictures where they are wanted. */
export async function expectSound({ page, problems }: WatchedPage): Promise<void> {
  await takePictures(page);
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

/** Starts an exchange and Chromium before the tests of a suite; stops the exchange and closes the pages after them. */
export function serveConsole(options: StackOptions = {}): ServedConsole {
  let browser: Browser | undefined;
  let stack: Stack | undefined;
  const contexts: BrowserContext[] = [];
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error("the exchange and the browser start before the tests");
    return part;
  };
  before(async function () {
    browser = await startBrowser(this);
    stack = await startStack(options);
  });
  after(async () => {
    await Promise.allSettled(contexts.map((context) => context.close()));
    await stack?.stop();
  });
  return {
    get stack() {
      return started(stack);
    },
    async visit(address, settings) {
      const origin = settings?.baseURL ?? started(stack).url;
      const context = await started(browser).newContext({ baseURL: origin, ...settings });
      contexts.push(context);
      return openPage(context, origin, address);
    },
  };
}
