/** Actions of forms and buttons. */

import { useRef, useState } from "preact/hooks";
import { asRefusal, type Refusal } from "./refusal.js";

/** An action: a second click while it is on its way does nothing. */
export interface Action<Parameters extends readonly unknown[]> {
  readonly busy: boolean;
  /** Refusal of the last run, until the next one or its dismissal. */
  readonly refusal: Refusal | undefined;
  readonly run: (...parameters: Parameters) => void;
  readonly dismiss: () => void;
}

/** Returns the action that `act` carries out. */
export function useAction<Parameters extends readonly unknown[]>(
  act: (...parameters: Parameters) => Promise<void>,
): Action<Parameters> {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const running = useRef(false);
  const run = (...parameters: Parameters): void => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setRefusal(undefined);
    act(...parameters)
      .catch((error: unknown) => setRefusal(asRefusal(error)))
      .finally(() => {
        running.current = false;
        setBusy(false);
      });
  };
  return { busy, refusal, run, dismiss: () => setRefusal(undefined) };
}
