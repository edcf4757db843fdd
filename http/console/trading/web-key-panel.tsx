/** Stands in for the order ticket while this browser does not hold the key of the subaccount Web. */

import type { ComponentChildren } from "preact";
import { Link } from "../app/router.js";
import { useAction } from "../data/action.js";
import { signInAddress } from "../data/session.js";
import { Button } from "../parts/button.js";
import { Skeleton } from "../parts/loaded.js";
import { Note, Notice } from "../parts/notice.js";
import { checkWebKey, ensureWebKey, WEB, webKeyState } from "./web-key.js";

interface WebKeyPanelProps {
  /** Called after the key has come to this browser. */
  readonly onChanged?: () => void;
}

/** Says where the key is and what a click does, before it does it. Shows nothing when the key is here. */
export function WebKeyPanel({ onChanged }: WebKeyPanelProps) {
  const ensure = async (): Promise<void> => {
    await ensureWebKey();
    onChanged?.();
  };
  const { value } = webKeyState;
  switch (value.kind) {
    case "here":
      return null;
    case "signedOut":
      return (
        <p>
          <Link to={signInAddress()}>Log in</Link> or <Link to="/register">register</Link> to trade.
        </p>
      );
    case "checking":
      return <Skeleton rows={3} />;
    case "impossible":
      return <Note kind="warning">This page cannot trade here. {value.reason}</Note>;
    case "failed":
      return (
        <>
          <Notice refusal={value.refusal} />
          <Act label="Try again" act={checkWebKey} />
        </>
      );
    case "absent":
      return (
        <Act label={`Open ${WEB}`} act={ensure}>
          <p>
            This page trades in a subaccount of its own, called {WEB}. Its key is made in this browser and
            cannot leave it. You move money into {WEB} with the file of your management key.
          </p>
        </Act>
      );
    case "elsewhere":
      return value.liveKeyId === undefined ? (
        <Act label="Make a key here" act={ensure}>
          <p>The subaccount {WEB} has no live key. This browser makes a new one, which cannot leave it.</p>
        </Act>
      ) : (
        <Act label="Move the key to this browser" act={ensure}>
          <p>
            The key of the subaccount {WEB} is in another browser. Moving it here revokes that key: the other
            browser can then no longer trade. Open orders stay on the book, and this browser can cancel them.
          </p>
        </Act>
      );
    default:
      return value satisfies never;
  }
}

interface ActProps {
  readonly label: string;
  readonly act: () => Promise<void>;
  readonly children?: ComponentChildren;
}

function Act({ label, act, children }: ActProps) {
  const action = useAction(act);
  return (
    <div>
      {children}
      <Notice refusal={action.refusal} onDismiss={action.dismiss} />
      <Button kind="main" busy={action.busy} onClick={action.run}>
        {label}
      </Button>
    </div>
  );
}
