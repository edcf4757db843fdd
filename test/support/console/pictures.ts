/** Pictures of the stages that the tests of the console reach, for people to look at: `PICTURES` names their folder. */

import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";

const FOLDER = process.env["PICTURES"];
const WIDTHS = [1_440, 390] as const;
const THEMES = ["light", "dark"] as const;
const HEIGHT = 900;

let taken = 0;

/** Takes a picture of what a page shows in each width and appearance, where pictures are wanted. */
export async function takePictures(page: Page): Promise<void> {
  if (FOLDER === undefined) return;
  mkdirSync(FOLDER, { recursive: true });
  taken += 1;
  const name = [String(taken).padStart(3, "0"), ...new URL(page.url()).pathname.split("/").slice(1, 3)].join(
    "-",
  );
  const size = page.viewportSize();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({
        path: path.join(FOLDER, `${name}-${width}-${colorScheme}.png`),
        fullPage: true,
      });
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (size !== null) await page.setViewportSize(size);
}
