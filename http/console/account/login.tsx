/** Page that signs in, and returns to the place from which the visitor came. */

import { useEffect, useState } from "preact/hooks";
import { Link, navigate, useQuery } from "../app/router.js";
import { useAction } from "../data/action.js";
import { session } from "../data/session.js";
import { logIn } from "../data/sign-in.js";
import { Button } from "../parts/button.js";
import { TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";

/** Returns the address to open after the sign-in. Another origin is none. */
function placeOf(next: string): string {
  const url = new URL(next === "" ? "/" : next, window.location.origin);
  return url.origin === window.location.origin ? url.pathname + url.search : "/";
}

export default function Login() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asksCode, setAsksCode] = useState(false);
  const [next] = useQuery("next");
  const signedIn = session.value !== undefined;

  // Another tab may sign in too.
  useEffect(() => {
    if (signedIn) navigate(placeOf(next), { replace: true });
  }, [signedIn, next]);

  const logging = useAction(async () => {
    await logIn(email.trim(), password, asksCode ? code.replace(/\s/g, "") : undefined);
  });
  const isMissingCode = logging.refusal?.code === "TOTP_REQUIRED";
  useEffect(() => {
    if (isMissingCode) setAsksCode(true);
  }, [isMissingCode]);

  return (
    <>
      <h1>Log in</h1>
      {next !== "" && <Note>Log in to open the page that you came from.</Note>}
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          logging.run();
        }}
      >
        <TextField label="E-mail" type="email" autocomplete="username" value={email} onInput={setEmail} />
        <TextField
          label="Password"
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
        />
        {asksCode && (
          <TextField
            label="One-time password"
            autocomplete="one-time-code"
            value={code}
            onInput={setCode}
            hint="Six digits of your authenticator app, or one of your recovery codes."
          />
        )}
        {!isMissingCode && <Notice refusal={logging.refusal} onDismiss={logging.dismiss} />}
        <div class="buttons">
          <Button kind="main" submits busy={logging.busy}>
            Log in
          </Button>
          <span>
            or{" "}
            <Link to={next === "" ? "/register" : `/register?next=${encodeURIComponent(next)}`}>
              register
            </Link>
          </span>
        </div>
      </form>
    </>
  );
}
