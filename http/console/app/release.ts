/** Reloads a page that was left open while the service was released anew, because its files are gone. */

import { settings } from "../data/settings.js";
import { isHeld } from "./stays.js";

const CHECK_MS = 60_000;

/** Returns true when the service offers another release of the pages than this one. */
async function isReleased(): Promise<boolean> {
  try {
    const response = await fetch("/release.json", { cache: "no-store" });
    const { release } = (await response.json()) as { release?: string };
    return response.ok && release !== undefined && release !== settings.release;
  } catch {
    // The service is away; the page stays as it is.
    return false;
  }
}

/** Fields in which the visitor has typed; a field that the page has filled itself is not among them. */
const edited = new WeakSet<Element>();

/** A form that holds unsent input is not thrown away, nor is what has to stay. */
function hasUnfinished(): boolean {
  if (isHeld()) return true;
  return [...document.querySelectorAll("input, textarea")].some(
    (field) =>
      (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) &&
      !["checkbox", "radio", "search"].includes(field.type) &&
      edited.has(field) &&
      field.value !== "",
  );
}

async function check(): Promise<void> {
  if (!hasUnfinished() && (await isReleased())) window.location.reload();
}

/** Looks for a new release once a minute and whenever the page is shown again. */
export function watchRelease(): void {
  setInterval(() => void check(), CHECK_MS);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void check();
  });
  document.addEventListener("input", ({ target }) => target instanceof Element && edited.add(target), true);
  // A chunk of an older release no longer exists. The error goes on to whoever loads the chunk, because a lost connection
  // has the same effect.
  window.addEventListener("vite:preloadError", () => void check());
}
