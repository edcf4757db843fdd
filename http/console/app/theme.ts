/** Light or dark appearance, as the visitor chose it in this browser; without a choice, that of the system. */

import { computed, effect, signal } from "@preact/signals";
import { remembered } from "../data/remembered.js";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = remembered<Theme>("theme", THEMES, "system");

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(darkSystem.matches);
darkSystem.addEventListener("change", ({ matches }) => {
  isSystemDark.value = matches;
});

/** The appearance that is shown. What is drawn on a canvas is drawn anew when it changes. */
export const appearance = computed(() =>
  theme.value === "system" ? (isSystemDark.value ? "dark" : "light") : theme.value,
);

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset["theme"];
  else dataset["theme"] = theme.value;
});

/** Changes to the next appearance. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
