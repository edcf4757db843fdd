/** Values that a page reads from the service and keeps up to date. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asRefusal, isAborted, type Refusal } from "./refusal.js";

/** A value that is read: the last one stays while a newer one is on its way, and after a refusal. */
export interface Resource<T> {
  readonly value?: T | undefined;
  readonly refusal?: Refusal | undefined;
  readonly loading: boolean;
  /** Time of the last answer, in ms since 1970. */
  readonly asOf?: number | undefined;
  /** Reads the value anew. */
  readonly reload: () => void;
}

interface State<T> {
  readonly key: string;
  readonly value?: T | undefined;
  readonly refusal?: Refusal | undefined;
  readonly loading: boolean;
  readonly asOf?: number | undefined;
}

/** Longest further pause in ms before a refused read: the pages that the service refuses together ask at different times. */
const SPREAD_MS = 2_000;

/**
 * Reads a value when the component is shown, when one of `deps` changes, and every `everyMs` while the page is visible.
 * Without `everyMs` it is read again when the service refuses it for a time. A change of `deps` drops the value, because
 * it belongs to something else.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  deps: readonly (string | number | boolean | undefined)[],
  { everyMs }: { readonly everyMs?: number } = {},
): Resource<T> {
  const key = JSON.stringify(deps);
  const [state, setState] = useState<State<T>>({ key, loading: true });
  const [wish, setWish] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      setState((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
      let pauseMs = everyMs;
      try {
        const value = await latest.current(ending.signal);
        if (ending.signal.aborted) return;
        setState({ key, value, loading: false, asOf: Date.now() });
      } catch (error) {
        if (ending.signal.aborted || isAborted(error)) return;
        const refusal = asRefusal(error);
        setState((old) => ({ ...(old.key === key ? old : { key }), refusal, loading: false }));
        const { retryAfterMs } = refusal;
        if (retryAfterMs !== undefined) pauseMs ??= retryAfterMs + Math.random() * SPREAD_MS;
      }
      if (pauseMs !== undefined) timer = setTimeout(again, pauseMs);
    };
    const again = (): void => {
      if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
      else void read();
    };
    void read();
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [key, everyMs, wish]);

  const reload = (): void => setWish((count) => count + 1);
  return state.key === key ? { ...state, reload } : { loading: true, reload };
}
