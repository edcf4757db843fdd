/** Long lists of the service: the first page is kept up to date, and older pages are added on request. */

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type Query } from "../data/api.js";
import { asRefusal, isAborted, type Refusal } from "../data/refusal.js";

export interface List<T> {
  /** Rows that were read, newest first; `undefined` before the first answer. */
  readonly rows: readonly T[] | undefined;
  readonly refusal: Refusal | undefined;
  readonly loading: boolean;
  /** Reads the next older rows; absent at the end of the list. */
  readonly more: (() => void) | undefined;
  readonly reload: () => void;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string | null | undefined;
}

interface State<T> {
  readonly key: string;
  readonly rows?: readonly T[];
  readonly next?: string | undefined;
  readonly pages: number;
  readonly refusal?: Refusal | undefined;
  readonly loading: boolean;
}

const PAGE_ROWS = 50;
/** Time after which the first page is read again, while it is the only one. */
const REFRESH_MS = 15_000;

export function useList<T>(path: string, query: Query): List<T> {
  const key = JSON.stringify([path, query]);
  const [state, setState] = useState<State<T>>({ key, pages: 0, loading: true });
  const current = useRef(state);
  current.current = state;
  const ending = useRef(new AbortController());

  const read = async (after: string | undefined, { signal }: AbortController): Promise<void> => {
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, pages: 0, loading: true }));
    try {
      const page = await call<Page<T>>("GET", path, { query: { ...query, limit: PAGE_ROWS, after }, signal });
      if (signal.aborted) return;
      setState(({ rows = [], pages }) => ({
        key,
        rows: after === undefined ? page.items : [...rows, ...page.items],
        next: page.next ?? undefined,
        pages: after === undefined ? 1 : pages + 1,
        loading: false,
      }));
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      const refusal = asRefusal(error);
      setState((old) => ({ ...(old.key === key ? old : { key, pages: 0 }), refusal, loading: false }));
    }
  };

  useEffect(() => {
    const control = new AbortController();
    ending.current = control;
    void read(undefined, control);
    const timer = setInterval(() => {
      const { pages, loading } = current.current;
      if (!document.hidden && pages <= 1 && !loading) void read(undefined, control);
    }, REFRESH_MS);
    return () => {
      control.abort();
      clearInterval(timer);
    };
  }, [key]);

  const reload = (): void => void read(undefined, ending.current);
  if (state.key !== key) {
    return { rows: undefined, refusal: undefined, loading: true, more: undefined, reload };
  }
  const { rows, next, refusal, loading } = state;
  const more = next === undefined || loading ? undefined : () => void read(next, ending.current);
  return { rows, refusal, loading, more, reload };
}
