/** Choices that this browser remembers. Where its storage is blocked, they last until the page is left. */

import { effect, signal, type Signal } from "@preact/signals";

/** Returns a stored text; `null` where there is none, or the storage is blocked. */
export function readStored(key: string): string | null {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a text, or removes it. Does nothing where the storage is blocked or full. */
export function writeStored(key: string, text: string | undefined): void {
  try {
    if (text === undefined) window.localStorage.removeItem(key);
    else window.localStorage.setItem(key, text);
  } catch {
    // The page goes on without memory.
  }
}

/** Returns a signal whose value survives a reload. A stored value that is not a choice reads as `initial`. */
export function remembered<T extends string>(name: string, choices: readonly T[], initial: T): Signal<T> {
  const key = `overround.${name}`;
  const stored = readStored(key);
  const value = signal(choices.find((choice) => choice === stored) ?? initial);
  effect(() => writeStored(key, value.value));
  return value;
}
