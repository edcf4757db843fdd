/** Tabs whose choice is part of the address. */

import type { ComponentChildren } from "preact";
import { useQuery } from "../app/router.js";

interface TabsProps<T extends string> {
  /** Parameter of the query that holds the choice. */
  readonly name: string;
  readonly label: string;
  readonly tabs: readonly (readonly [value: T, text: string])[];
  readonly children: (chosen: T) => ComponentChildren;
}

/** A row of tabs and the panel of the chosen one; the first tab is the default. Arrow keys move between tabs. */
export function Tabs<T extends string>({ name, label, tabs, children }: TabsProps<T>) {
  const [query, setQuery] = useQuery(name);
  const first = tabs[0];
  if (first === undefined) return null;
  const index = Math.max(
    0,
    tabs.findIndex(([value]) => value === query),
  );
  const [chosen] = tabs[index] ?? first;
  const choose = (value: T): void => setQuery(value === first[0] ? "" : value);
  const step = (by: number): void => {
    const [value] = tabs[(index + by + tabs.length) % tabs.length] ?? first;
    choose(value);
    document.getElementById(`${name}-${value}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label}>
        {tabs.map(([value, text]) => (
          <button
            key={value}
            id={`${name}-${value}`}
            type="button"
            role="tab"
            aria-selected={value === chosen}
            aria-controls={`${name}-panel`}
            tabIndex={value === chosen ? 0 : -1}
            onClick={() => choose(value)}
            onKeyDown={({ key }) => {
              if (key === "ArrowRight") step(1);
              if (key === "ArrowLeft") step(-1);
            }}
          >
            {text}
          </button>
        ))}
      </div>
      <div id={`${name}-panel`} role="tabpanel" aria-labelledby={`${name}-${chosen}`}>
        {children(chosen)}
      </div>
    </>
  );
}
