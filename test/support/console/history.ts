/** The history of the browser, for the tests of pages that show a secret once. */

import { expect } from "chai";
import type { Page } from "playwright-core";

/**
 * Goes back from a page that shows a secret: first the visitor stays, because the page asks, then the visitor leaves.
 * Expects that the secret is still there in the first case, and in the second one that Forward does not show it again.
 */
export async function expectGoneAfterBack(page: Page, secret: string): Promise<void> {
  const here = page.url();
  const shows = async (): Promise<boolean> => (await page.content()).includes(secret);
  expect(await shows(), "the page shows the secret").to.equal(true);
  page.once("dialog", (question) => void question.dismiss());
  await page.goBack();
  await page.waitForURL(here);
  expect(await shows(), "the secret stays with its page").to.equal(true);
  page.once("dialog", (question) => void question.accept());
  await page.goBack();
  await page.waitForURL((url) => url.href !== here);
  expect(await shows(), "the secret is gone with its page").to.equal(false);
  await page.goForward();
  await page.waitForURL(here);
  await page.getByRole("main").locator("h1").waitFor();
  await page.waitForLoadState("networkidle");
  expect(await shows(), "the secret comes back").to.equal(false);
}
