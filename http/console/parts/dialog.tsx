/** Dialogs, which ask before something that cannot be undone. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { isHeld } from "../app/stays.js";

interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog of the browser: Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, open, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { current } = dialog;
    if (current === null) return;
    if (open && !current.open) current.showModal();
    if (!open && current.open) current.close();
  }, [open]);
  const stays = (): boolean => open && dialog.current !== null && isHeld(dialog.current);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        if (stays()) event.preventDefault();
      }}
      onClose={() => {
        // Some browsers close a dialog at the second Escape whatever the page says.
        if (stays()) dialog.current?.showModal();
        else onClose();
      }}
    >
      {open && (
        <>
          <h2 id={id}>{title}</h2>
          {children}
        </>
      )}
    </dialog>
  );
}
