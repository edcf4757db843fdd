/** Reports a lock that another live process still holds. */
export class LockHeld extends Error {}

/** Runs `work` while this process holds the lock `file`; see `setup-lock.mjs`. */
export function exclusively(
  file: string,
  options: { readonly waitMs: number; readonly onWait: (holder: number) => void },
  work: () => void,
): void;
