/** Choices that this browser remembers. */

import { effect, signal, type Signal } from "@preact/signals";

/** Returns a signal whose value survives a reload. A stored value that is not a choice reads as `initial`. */
export function remembered<T extends string>(name: string, choices: readonly T[], initial: T): Signal<T> {
  const key = `overround.${name}`;
  const stored = window.localStorage.getItem(key);
  const value = signal(choices.find((choice) => choice === stored) ?? initial);
  effect(() => window.localStorage.setItem(key, value.value));
  return value;
}
