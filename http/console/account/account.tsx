/** Page of the account: identity, location, password, second factor and sessions. */

import { navigate } from "../app/router.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { keepSession } from "../data/session.js";
import { logOut } from "../data/sign-in.js";
import { Faucet } from "../demo/faucet.js";
import { Button } from "../parts/button.js";
import { Loaded, Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Money, Time } from "../parts/values.js";
import type { AccountAnswer } from "./facts.js";
import { CheckIn } from "./check-in.js";
import { NextSteps } from "./next-steps.js";
import { Password } from "./password.js";
import { SecondFactor } from "./second-factor.js";
import "./account.css";

export default function Account() {
  const account = useResource((signal) => call<AccountAnswer>("GET", "/v3/session", { signal }), []);
  return (
    <div class="account">
      <h1>Account</h1>
      <Loaded of={account} what="your account" waiting={<Skeleton rows={8} isPage />}>
        {(shown) => (
          <>
            <Facts account={shown} />
            {shown.role === "trader" && (
              <>
                <Faucet onDone={account.reload} />
                <NextSteps account={shown} />
                <CheckIn location={shown.location} onCheckedIn={account.reload} />
              </>
            )}
            {shown.role === "operator" && <SecondFactor account={shown} onEnrolled={account.reload} />}
            <Password hasCode={shown.totp} />
            <Sessions />
          </>
        )}
      </Loaded>
    </div>
  );
}

const IDENTITY: Readonly<Record<AccountAnswer["kyc"], string>> = {
  NONE: "Not verified. The operator of this exchange verifies identities, and has not yet verified yours.",
  PENDING: "The operator is verifying your identity.",
  VERIFIED: "Verified.",
  REJECTED: "Rejected. Contact the operator of this exchange.",
};

const STATE: Readonly<Record<AccountAnswer["state"], string>> = {
  ACTIVE: "Active.",
  LOCKED: "Locked. Your keys are refused. Contact the operator of this exchange.",
  EXCLUDED: "Excluded from trading. You can read everything and cancel orders.",
  SELF_EXCLUDED: "Excluded from trading by yourself. You can read everything and cancel orders.",
};

function Facts({ account }: { readonly account: AccountAnswer }) {
  const { email, role, operatorRole, kyc, state, stateReason, selfExcludedUntil, cash } = account;
  return (
    <dl>
      <dt>E-mail</dt>
      <dd>
        {email.slice(0, email.indexOf("@") + 1)}
        <wbr />
        {email.slice(email.indexOf("@") + 1)}
      </dd>
      {role === "operator" ? (
        <>
          <dt>Role</dt>
          <dd>operator: {operatorRole}</dd>
        </>
      ) : (
        <>
          <dt>Identity</dt>
          <dd>{IDENTITY[kyc]}</dd>
          <dt>State</dt>
          <dd>
            {STATE[state]}
            {stateReason !== null && state !== "ACTIVE" && ` Reason: ${stateReason}.`}
            {state === "SELF_EXCLUDED" && selfExcludedUntil !== null && (
              <>
                {" "}
                Until <Time ms={selfExcludedUntil} />.
              </>
            )}
          </dd>
          <dt>Money outside subaccounts</dt>
          <dd>
            <Money value={cash.CASH} />
            {cash.COIN !== "0.00000" && (
              <>
                {" "}
                and <Money value={cash.COIN} coin />
              </>
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

/** Ends this session, or every session of the account. */
function Sessions() {
  const here = useAction(async () => {
    await logOut();
    navigate("/");
  });
  const everywhere = useAction(async () => {
    await call("DELETE", "/v3/sessions");
    keepSession(undefined);
    navigate("/");
  });
  return (
    <section>
      <h2>Sessions</h2>
      <p>
        A session ends by itself after 12 hours. Logging out everywhere also ends the sessions of other
        browsers and devices. Keys stay live: revoke a key that you no longer trust under Keys.
      </p>
      <Notice refusal={everywhere.refusal} onDismiss={everywhere.dismiss} />
      <div class="buttons">
        <Button busy={here.busy} onClick={here.run}>
          Log out here
        </Button>
        <Button busy={everywhere.busy} onClick={everywhere.run}>
          Log out everywhere
        </Button>
      </div>
    </section>
  );
}
