/** The three states of what a page reads: on its way, there, or refused. */

import type { ComponentChildren } from "preact";
import { Link } from "../app/router.js";
import type { Resource } from "../data/resource.js";
import { settings } from "../data/settings.js";
import { showSeconds } from "../data/time.js";
import { Button } from "./button.js";
import { Notice } from "./notice.js";

interface LoadedProps<T> {
  readonly of: Resource<T>;
  /** Name of the value, with its article: "the wallets". */
  readonly what: string;
  /** Skeleton in the shape of what is coming. */
  readonly waiting?: ComponentChildren;
  /** Shown instead of an empty list: what would be here, and how to get it. */
  readonly empty?: ComponentChildren;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows a resource. A refusal stands above the last value, which stays. */
export function Loaded<T>({ of, what, waiting, empty, children }: LoadedProps<T>) {
  const { value, refusal, loading, asOf, reload } = of;
  return (
    <>
      {refusal !== undefined && (
        <div class="loaded-refusal">
          <Notice refusal={refusal} reads={what} />
          {asOf !== undefined && <p>What is shown is of {showSeconds(asOf)}.</p>}
          <div class="buttons">
            <Button busy={loading} onClick={reload}>
              Try again
            </Button>
            {settings.clients && <Link to="/status">See what works now</Link>}
          </div>
        </div>
      )}
      {value === undefined && refusal === undefined && (waiting ?? <Skeleton rows={4} />)}
      {value !== undefined &&
        (empty !== undefined && Array.isArray(value) && value.length === 0 ? empty : children(value))}
    </>
  );
}

interface SkeletonProps {
  readonly rows: number;
  /** True for the skeleton of a whole page, which has no footer before its content. */
  readonly isPage?: boolean;
}

/** Grey lines in place of rows that are on their way. */
export function Skeleton({ rows, isPage = false }: SkeletonProps) {
  return (
    <div class={isPage ? "skeleton skeleton-page" : "skeleton"} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row" />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** Says what would be here, and how to get it. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
