/** Dialogs, which ask before something that cannot be undone. */

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { isHeld } from "../app/stays.js";

interface DialogProps {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /**
   * Gives the first focus to the title instead of the first field or button, so that a held key confirms nothing, and no
   * keyboard of a phone hides the text.
   */
  readonly startsAtTitle?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog of the browser: Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, open, onClose, startsAtTitle = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isShown = useRef(false);
  const id = useId();
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current === null || !open) return;
    const { activeElement: opener } = document;
    isShown.current = true;
    current.showModal();
    if (startsAtTitle) heading.current?.focus();
    return () => {
      isShown.current = false;
      current.close();
      // A dialog that is removed from the page is modal until then.
      queueMicrotask(() => returnFocus(opener));
    };
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
        // The event of an earlier close may come after the dialog has opened again.
        if (dialog.current?.open !== false) return;
        // Some browsers close a dialog at the second Escape whatever the page says.
        if (stays()) dialog.current.showModal();
        else if (isShown.current) onClose();
      }}
    >
      {open && (
        <>
          <h2 id={id} ref={heading} tabIndex={startsAtTitle ? -1 : undefined}>
            {title}
          </h2>
          {children}
        </>
      )}
    </dialog>
  );
}

/** Gives the focus back to the element that had it, or else to the page, where the action has removed the element. */
function returnFocus(opener: Element | null): void {
  const isThere = opener instanceof HTMLElement && opener.isConnected;
  (isThere ? opener : document.getElementById("page"))?.focus({ preventScroll: true });
}
