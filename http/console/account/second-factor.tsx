/** Enrollment of one-time passwords by an operator (contract section 8.1). */

import { useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { beginSession } from "../data/sign-in.js";
import { Button } from "../parts/button.js";
import { TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import type { AccountAnswer } from "./facts.js";

interface Offer {
  readonly secret: string;
  readonly uri: string;
}

interface Enrolled {
  readonly token: string;
  readonly expiresAt: number;
  readonly recoveryCodes: readonly string[];
}

interface SecondFactorProps {
  readonly account: AccountAnswer;
  readonly onEnrolled: () => void;
}

/** Returns a secret in groups of four, which are easier to type; an app ignores the spaces. */
function inGroups(secret: string): string {
  return secret.replace(/.{4}(?=.)/g, "$& ");
}

/** Enrolls an authenticator app in two steps: the offer of a secret, and its first one-time password. */
export function SecondFactor({ account, onEnrolled }: SecondFactorProps) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [offer, setOffer] = useState<Offer>();
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>([]);
  const asking = useAction(async () => {
    const body = { password, ...(account.totp ? { code: code.replace(/\s/g, "") } : {}) };
    setOffer(await call<Offer>("POST", "/v3/session/totp", { body }));
    setPassword("");
    setCode("");
  });
  const confirming = useAction(async () => {
    const enrolled = await call<Enrolled>("POST", "/v3/session/totp", {
      body: { code: code.replace(/\s/g, "") },
    });
    await beginSession(enrolled);
    setRecoveryCodes(enrolled.recoveryCodes);
    setOffer(undefined);
    setCode("");
    onEnrolled();
  });
  return (
    <section>
      <h2>One-time passwords</h2>
      <p>
        {account.totp
          ? "Your authenticator app is enrolled. Enroll again to replace it."
          : "An operator signs in with a password and a one-time password of an authenticator app."}
      </p>
      {recoveryCodes.length > 0 && (
        <div data-stays>
          <Note kind="done">
            <p>
              The app is enrolled. Each of these recovery codes works once in place of a one-time password.
              They are shown only now: keep them where you keep your passwords.
            </p>
            <pre>{recoveryCodes.join("\n")}</pre>
            <Button onClick={() => setRecoveryCodes([])}>I have kept them</Button>
          </Note>
        </div>
      )}
      {offer === undefined ? (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            asking.run();
          }}
        >
          <TextField
            label="Your password"
            type="password"
            autocomplete="current-password"
            value={password}
            onInput={setPassword}
          />
          {account.totp && (
            <TextField
              label="One-time password of the enrolled app"
              autocomplete="one-time-code"
              value={code}
              onInput={setCode}
            />
          )}
          <Notice refusal={asking.refusal} onDismiss={asking.dismiss} />
          <Button submits busy={asking.busy}>
            Show a secret for the app
          </Button>
        </form>
      ) : (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            confirming.run();
          }}
        >
          <p>
            Enter this secret into the app, or open the <a href={offer.uri}>link</a> on the device that has
            the app.
          </p>
          <pre>{inGroups(offer.secret)}</pre>
          <TextField
            label="One-time password that the app shows"
            autocomplete="one-time-code"
            value={code}
            onInput={setCode}
          />
          <Notice refusal={confirming.refusal} onDismiss={confirming.dismiss} />
          <Button kind="main" submits busy={confirming.busy}>
            Enroll
          </Button>
        </form>
      )}
    </section>
  );
}
