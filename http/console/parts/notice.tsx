/** Messages beside what they are about. */

import type { ComponentChildren } from "preact";
import { type Refusal, UNREACHABLE } from "../data/refusal.js";
import { showDuration } from "../data/time.js";
import { Button } from "./button.js";

interface NoticeProps {
  readonly refusal: Refusal | undefined;
  /** Name of the value that the refused request reads, with its article; absent for an action. */
  readonly reads?: string;
  /** Removes the refusal; without it the notice stays until its cause is gone. */
  readonly onDismiss?: (() => void) | undefined;
}

/** A refusal in words, with its code, and the identity of the request for the operators. */
export function Notice({ refusal, reads, onDismiss }: NoticeProps) {
  if (refusal === undefined) return null;
  return (
    <div class="notice notice-refusal" role="alert">
      <p>
        {reads === undefined ? sentence(refusal.message) : readingWords(refusal, reads)}
        {refusal.retryAfterMs !== undefined && ` You can try again in ${showDuration(refusal.retryAfterMs)}.`}
      </p>
      <p class="notice-code">
        {refusal.code}
        {refusal.requestId === undefined ? "" : ` · request ${refusal.requestId}`}
      </p>
      {onDismiss !== undefined && (
        <Button kind="quiet" onClick={onDismiss}>
          Dismiss
        </Button>
      )}
    </div>
  );
}

/** Says what cannot be read, what that leaves as it is, and what to do. */
function readingWords({ status, code, message }: Refusal, what: string): string {
  if (code === UNREACHABLE)
    return sentence(
      `${what} cannot be read, because the service does not answer: orders and money stay as they are, and you can try again`,
    );
  if (status < 500) return sentence(message);
  return `${sentence(`${what} cannot be read: ${message}`)} Orders and money stay as they are, and other pages may work.`;
}

/** Messages of the service begin in lower case and may end without a full stop. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

interface NoteProps {
  readonly kind?: "done" | "plain" | "warning";
  readonly children: ComponentChildren;
}

/** A message that is no refusal. Screen readers announce it. */
export function Note({ kind = "plain", children }: NoteProps) {
  return (
    <div class={`notice notice-${kind}`} role="status">
      {children}
    </div>
  );
}
