/** The keys of the page, shown at `?`. */

import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.js";

const KEYS = [
  ["Arrow keys", "move between the prices of the ladders"],
  ["Enter", "on a price: take it into the ticket"],
  ["Arrow up, arrow down", "in the price of the ticket: one tick more or less"],
  ["Enter", "in the ticket: check the order, and again: place it"],
  ["Esc", "clear the ticket"],
  ["c", "cancel the order under the cursor"],
  ["?", "show these keys"],
] as const;

/** Returns true where a key is part of a text that somebody types. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select") !== null;
}

export function KeysHelp() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "?" && !isTyping(event)) setOpen(true);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <Dialog title="Keys" open={open} onClose={() => setOpen(false)}>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <Fragment key={meaning}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}
