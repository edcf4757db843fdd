/** Search by typing: filters the timetable, and offers the markets that it finds. */

import { useId, useRef, useState } from "preact/hooks";
import { navigate } from "../app/router.js";
import { showMoment } from "../data/time.js";
import { find, type Listed } from "./catalog.js";

const OFFERED = 8;

interface SearchProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Everything that can be found. */
  readonly listed: readonly Listed[];
  /** Called when somebody begins to search. */
  readonly onFocus: () => void;
}

export function Search({ text, onText, listed, onFocus }: SearchProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const found = open ? find(listed, text, OFFERED) : [];
  const choose = (index: number): void => {
    const chosen = found[index];
    if (chosen !== undefined) navigate(`/markets/${chosen.market.marketId}`);
  };
  const onKey = (event: KeyboardEvent): void => {
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp": {
        if (found.length === 0) return;
        const step = event.key === "ArrowDown" ? 1 : -1;
        setActive((active + step + found.length + (active === -1 && step === -1 ? 1 : 0)) % found.length);
        event.preventDefault();
        return;
      }
      case "Enter":
        if (active >= 0) choose(active);
        setOpen(false);
        return;
      case "Escape":
        if (open) setOpen(false);
        else onText("");
        return;
      default:
        return;
    }
  };
  return (
    <div class="search">
      <label class="hidden" for={id}>
        Search events, markets and outcomes
      </label>
      <input
        id={id}
        ref={input}
        type="search"
        role="combobox"
        list={undefined}
        autocomplete="off"
        data-search
        placeholder="Search ( / )"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 && found.length > 0 ? `${id}-${active}` : undefined}
        value={text}
        onInput={(event) => {
          setOpen(true);
          setActive(-1);
          onText(event.currentTarget.value);
        }}
        onFocus={onFocus}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      <ul
        id={`${id}-list`}
        class="search-found"
        role="listbox"
        aria-label="Markets found"
        hidden={found.length === 0}
      >
        {found.map(({ event, market }, index) => (
          <li
            key={market.marketId}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            // The press would take the focus from the input and close the list before the click.
            onMouseDown={(press) => press.preventDefault()}
            onClick={() => choose(index)}
          >
            <span>
              {event.description}: {market.description}
            </span>
            <span class="quiet">
              {event.league} · {showMoment(event.startsTs)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
