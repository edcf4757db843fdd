/** Page that registers a trader, and signs the trader in. */

import { useState } from "preact/hooks";
import { Link, navigate, useQuery } from "../app/router.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { logIn } from "../data/sign-in.js";
import { Button } from "../parts/button.js";
import { TextField } from "../parts/field.js";
import { Notice } from "../parts/notice.js";
import { MIN_PASSWORD } from "./facts.js";

export default function Register() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [next] = useQuery("next");
  const register = useAction(async () => {
    const credentials = { email: email.trim(), password };
    await call("POST", "/v3/session/register", { body: credentials });
    await logIn(credentials.email, password);
    navigate(next.startsWith("/") ? `/account?next=${encodeURIComponent(next)}` : "/account", {
      replace: true,
    });
  });
  return (
    <>
      <h1>Register</h1>
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          register.run();
        }}
      >
        <TextField
          label="E-mail"
          type="email"
          autocomplete="username"
          value={email}
          onInput={setEmail}
          error={
            register.refusal?.code === "EMAIL_TAKEN"
              ? "This address has an account already. Log in."
              : undefined
          }
        />
        <TextField
          label="Password"
          type="password"
          autocomplete="new-password"
          value={password}
          onInput={setPassword}
          hint={`At least ${MIN_PASSWORD} characters. Nobody can read it, so nobody can tell you what it was.`}
        />
        {register.refusal?.code !== "EMAIL_TAKEN" && (
          <Notice refusal={register.refusal} onDismiss={register.dismiss} />
        )}
        <div class="buttons">
          <Button kind="main" submits busy={register.busy}>
            Register
          </Button>
          <span>
            or <Link to="/login">log in</Link>
          </span>
        </div>
      </form>
    </>
  );
}
