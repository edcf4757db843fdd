/** Button of the demo's faucet, which gives play money. */

import { useRef } from "preact/hooks";
import { useAction } from "../data/action.js";
import { settings } from "../data/settings.js";
import { Button } from "../parts/button.js";
import { Notice } from "../parts/notice.js";
import { askFaucet } from "./first-order.js";

interface FaucetProps {
  /** The subaccount that gets the money; without it, the trader's own wallet gets it. */
  readonly subaccount?: { readonly keyId: string; readonly label: string } | undefined;
  /** Called when the money has arrived. */
  readonly onDone: () => void;
}

/** Gives $1,000 of play money where the demo runs; elsewhere nothing. */
export function Faucet({ subaccount, onDone }: FaucetProps) {
  // A click after a lost answer gets the same money, and not more.
  const clientRef = useRef<string | undefined>(undefined);
  const action = useAction(async () => {
    clientRef.current ??= `faucet ${Date.now()}`;
    await askFaucet(clientRef.current, subaccount?.keyId);
    clientRef.current = undefined;
    onDone();
  });
  if (!settings.demo) return null;
  return (
    <>
      <Button busy={action.busy} onClick={() => action.run()}>
        Get $1,000 of play money{subaccount === undefined ? "" : ` for ${subaccount.label}`}
      </Button>
      <Notice refusal={action.refusal} onDismiss={action.dismiss} />
    </>
  );
}
