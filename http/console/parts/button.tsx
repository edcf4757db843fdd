/** Buttons. */

import type { ComponentChildren } from "preact";

interface ButtonProps {
  readonly children: ComponentChildren;
  /** `main`: the one thing that a form is for. `danger`: what cannot be undone. */
  readonly kind?: "main" | "plain" | "danger" | "quiet";
  /** True while the action is on its way; the button then takes no other click. */
  readonly busy?: boolean;
  readonly disabled?: boolean;
  /** Why the button is disabled, in words. */
  readonly reason?: string | undefined;
  readonly submits?: boolean;
  readonly label?: string | undefined;
  readonly onClick?: () => void;
}

/** A button. A disabled one keeps the keyboard's focus, so that its reason can be read. */
export function Button(props: ButtonProps) {
  const { children, kind = "plain", busy = false, disabled = false, reason, submits = false } = props;
  const isOff = busy || disabled || reason !== undefined;
  return (
    <button
      type={submits ? "submit" : "button"}
      class={`button button-${kind}`}
      aria-disabled={isOff}
      aria-busy={busy}
      aria-label={props.label}
      title={reason}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else props.onClick?.();
      }}
    >
      {children}
    </button>
  );
}
