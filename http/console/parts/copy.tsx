/** Button that copies a text. */

import { useState } from "preact/hooks";
import { Button } from "./button.js";

interface CopyProps {
  readonly text: string;
  /** Names what is copied, for screen readers. */
  readonly label: string;
}

/** A button that puts a text into the clipboard, and says so. */
export function Copy({ text, label }: CopyProps) {
  const [last, setLast] = useState<{ readonly text: string; readonly done: boolean }>();
  const outcome = last?.text === text ? last : undefined;
  return (
    <span role="status">
      <Button
        kind="quiet"
        label={outcome === undefined ? label : undefined}
        onClick={() => {
          void copy(text).then((done) => setLast({ text, done }));
        }}
      >
        {outcome === undefined ? "Copy" : outcome.done ? "Copied" : "Not copied: select the text"}
      </Button>
    </span>
  );
}

/** The clipboard is missing where the page has no HTTPS, and a browser may refuse it. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
