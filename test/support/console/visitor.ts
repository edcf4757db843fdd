/** Steps that tests of the console take in the browser. */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import type { Stack } from "../stack.js";
import { operatorCalls } from "../../http/calls.js";
import { until } from "../until.js";

/** File of a private key that a page has offered. */
export interface KeyFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

const PASSWORD = "a long password";

/** Registers a visitor through the page; the page then shows the account. */
export async function register(page: Page, email: string): Promise<void> {
  await page.goto("/register");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Account" }).waitFor();
}

/** Fills in and sends the form of the sign-in that a page shows. */
export async function sendLogin(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

/** Signs in and opens an address of the console. */
export async function signIn(page: Page, email: string, next: string): Promise<void> {
  await page.goto(`/login?next=${encodeURIComponent(next)}`);
  await sendLogin(page, email);
  await page.waitForURL((url) => url.pathname !== "/login");
}

/** Checks in from a region through the page of the account. */
export async function checkIn(page: Page, region = "US-NY"): Promise<void> {
  await page.getByLabel("Region").fill(region);
  await page.getByRole("button", { name: "Check in" }).click();
  await page.getByText(`Checked in from ${region}`).waitFor();
}

/** Verifies the identity of a trader and deposits dollars, as an operator does. */
export async function welcome(stack: Stack, email: string, amount: string): Promise<void> {
  const operator = await operatorCalls(stack);
  const { json } = await until(
    () => operator(`GET /admin/v1/traders?search=${encodeURIComponent(email)}`),
    ({ json: found }) => (found["items"] as unknown[]).length === 1,
  );
  const [trader] = json["items"] as { traderId: string }[];
  if (trader === undefined) throw new Error(`no trader has the address ${email}`);
  await operator(`POST /admin/v1/traders/${trader.traderId}/kyc`, { status: "VERIFIED" });
  const deposit = { kind: "DEPOSIT", amount, currency: "CASH", reason: "first deposit" };
  await operator(`POST /admin/v1/traders/${trader.traderId}/transactions`, deposit);
}

/** Saves the file of a key that a dialog offers, and closes the offer. */
export async function saveKey(page: Page): Promise<KeyFile> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: /\.pem$/ }).click(),
  ]);
  const buffer = await readFile(await download.path());
  await page.getByRole("button", { name: "I have saved the file" }).click();
  return { name: download.suggestedFilename(), mimeType: "application/x-pem-file", buffer };
}

/** Makes the management key on the page of the keys. */
export async function makeManagementKey(page: Page): Promise<KeyFile> {
  await page.goto("/keys");
  await page.getByRole("button", { name: "Make a management key" }).click();
  await page.getByRole("button", { name: "Make the key" }).click();
  return saveKey(page);
}

/** Sends the form that moves money from the account into Web. */
export async function moveMoney(page: Page, amount: string, file: KeyFile): Promise<void> {
  await page.getByRole("button", { name: "Move money: Web" }).click();
  await page.getByLabel("Amount in dollars").fill(amount);
  await page.getByLabel("File of the management key").setInputFiles(file);
  await page.getByRole("dialog").getByRole("button", { name: "Move money" }).click();
}

/**
 * Takes a visitor from the registration to the subaccount Web with $25.50, all in the browser but for the identity and the
 * deposit, which are the operator's. Returns the file of the management key.
 */
export async function becomeTrader(page: Page, stack: Stack, email: string): Promise<KeyFile> {
  await register(page, email);
  await checkIn(page);
  await welcome(stack, email, "100");
  const file = await makeManagementKey(page);
  await page.getByRole("button", { name: "Open Web" }).click();
  await page.getByRole("cell", { name: "this browser" }).waitFor();
  await moveMoney(page, "25.5", file);
  await page.getByText("$25.50 moved into Web").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("cell", { name: "$25.50" }).waitFor();
  return file;
}

/** Script of a browser without Ed25519; it is a text because the loader of the tests changes functions. */
const WITHOUT_ED25519 = `
for (const method of ["generateKey", "importKey"]) {
  const original = crypto.subtle[method].bind(crypto.subtle);
  crypto.subtle[method] = (...given) =>
    JSON.stringify(given).includes('"Ed25519"')
      ? Promise.reject(new DOMException("Ed25519 is not supported", "NotSupportedError"))
      : original(...given);
}`;

/** Hides Ed25519 from the pages that are opened after this. */
export async function hideEd25519(page: Page): Promise<void> {
  await page.addInitScript({ content: WITHOUT_ED25519 });
}
