/** Buttons. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

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

/** A button. A disabled one keeps the keyboard's focus, and says its reason when it is pressed or pointed at. */
export function Button(props: ButtonProps) {
  const { children, kind = "plain", busy = false, disabled = false, reason, submits = false } = props;
  const [isPressed, setPressed] = useState(false);
  const isOff = busy || disabled || reason !== undefined;
  return (
    <>
      <button
        type={submits ? "submit" : "button"}
        class={`button button-${kind}`}
        aria-disabled={isOff}
        aria-busy={busy}
        aria-label={props.label}
        title={reason}
        onBlur={() => setPressed(false)}
        onClick={(event) => {
          setPressed(reason !== undefined);
          if (isOff) event.preventDefault();
          else props.onClick?.();
        }}
      >
        {children}
      </button>
      {/* Screen readers announce a text that arrives in a region, and none that arrives together with its region. */}
      {reason !== undefined && (
        <span class={isPressed ? "button-reason" : "hidden"} role="status">
          {isPressed && reason}
        </span>
      )}
    </>
  );
}
