/** Address of the page: reads it, changes it without a reload, and keeps filters in its query. */

import { signal } from "@preact/signals";
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { isHeld, mayLeave } from "./stays.js";

const read = (): URL => new URL(window.location.href);

/** Address that is shown. */
export const address = signal(read());

/** Returns true when both addresses show the same, whatever place within it. */
function isSame(one: URL, other: URL): boolean {
  return one.pathname === other.pathname && one.search === other.search;
}

window.addEventListener("popstate", () => {
  const next = read();
  if (isSame(next, address.peek()) || mayLeave()) address.value = next;
  // The browser has gone back already, so the page takes its address again.
  else window.history.pushState(null, "", address.peek());
});
window.addEventListener("beforeunload", (event) => {
  if (isHeld()) event.preventDefault();
});

/** Opens an address of the console. `replace` leaves no entry in the history of the browser. */
export function navigate(to: string, { replace = false } = {}): void {
  const next = new URL(to, window.location.href);
  if (!isSame(next, address.peek()) && !mayLeave()) return;
  const isOtherPage = next.pathname !== address.value.pathname;
  if (replace) window.history.replaceState(null, "", next);
  else window.history.pushState(null, "", next);
  address.value = next;
  if (!isOtherPage) return;
  window.scrollTo(0, 0);
  // Keyboards and screen readers continue at the new page, as they do after a reload.
  document.getElementById("page")?.focus({ preventScroll: true });
}

/** Returns a parameter of the query and a function that sets it; an empty value removes it. */
export function useQuery(name: string): readonly [string, (value: string) => void] {
  const set = (value: string): void => {
    const next = new URL(address.peek());
    if (value === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value);
    navigate(next.href, { replace: true });
  };
  return [address.value.searchParams.get(name) ?? "", set];
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly label?: string | undefined;
  readonly children: ComponentChildren;
}

/** Link to a page of the console. */
export function Link({ to, class: name, label, children }: LinkProps) {
  const here = address.value.pathname;
  const isCurrent = new URL(to, address.value).pathname === here;
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    // The browser opens a new tab or window by itself.
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a
      href={to}
      class={name}
      aria-label={label}
      aria-current={isCurrent ? "page" : undefined}
      onClick={follow}
    >
      {children}
    </a>
  );
}
