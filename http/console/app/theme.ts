/** Light or dark appearance, as the visitor chose it in this browser; without a choice, that of the system. */

import { effect } from "@preact/signals";
import { remembered } from "../data/remembered.js";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = remembered<Theme>("theme", THEMES, "system");

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset["theme"];
  else dataset["theme"] = theme.value;
});

/** Changes to the next appearance. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
