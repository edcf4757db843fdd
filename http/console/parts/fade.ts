/** The fade that shows a changed number. */

const FADE_MS = 400;
const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");

/** Fades the background of an element once. It neither moves anything nor makes the browser lay the page out. */
export function fade(element: HTMLElement): void {
  if (reducedMotion.matches) return;
  element.animate([{ backgroundColor: "var(--changed)" }, { backgroundColor: "transparent" }], FADE_MS);
}
