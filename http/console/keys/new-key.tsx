/** Form that makes a key in this browser, or takes the public half of a key that was made elsewhere. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { generateKey, type KeyPair } from "../../client/keys.js";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { asRefusal, Refusal } from "../data/refusal.js";
import { Button } from "../parts/button.js";
import { Choice, TextArea, TextField } from "../parts/field.js";
import { Note, Notice } from "../parts/notice.js";
import { fingerprintOfPem, fromPem, withBestAlgorithm, withoutWebCrypto } from "../trading/web-crypto.js";
import type { KeyAnswer } from "./own-keys.js";
import { SaveKey } from "./save-key.js";

/** Public half of a new key, as the service takes it. */
export interface PublicHalf {
  readonly publicKey: string;
  readonly algorithm: KeyPair["algorithm"];
}

interface NewKeyProps {
  /** Label of the field for the name. */
  readonly nameLabel: string;
  readonly name?: string;
  /** Text of the button. */
  readonly action: string;
  /** Further fields. */
  readonly children?: ComponentChildren;
  /** Registers the key under a name. Throws `Refusal`. */
  readonly register: (name: string, key: PublicHalf) => Promise<unknown>;
  /** Called when the key is registered and its file is saved. */
  readonly onDone: () => void;
  readonly onCancel?: () => void;
}

type Source = "here" | "elsewhere";

/** Returns the length of an uncompressed P-256 key in SPKI DER; every other key that is accepted is of Ed25519. */
const P256_SPKI_BYTES = 91;

/** Reads a pasted public key. Throws `Refusal`. */
function pastedKey(text: string): PublicHalf {
  const spki = fromPem("PUBLIC KEY", text);
  if (text.includes("PRIVATE KEY"))
    throw new Refusal(
      0,
      "PRIVATE_KEY",
      "This is a private key. Keep it secret, and paste the public key of the pair.",
    );
  if (spki === undefined)
    throw new Refusal(
      0,
      "NOT_A_PUBLIC_KEY",
      "Paste one public key as PEM, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----.",
    );
  return {
    publicKey: `${text.trim()}\n`,
    algorithm: spki.length === P256_SPKI_BYTES ? "P-256" : "Ed25519",
  };
}

/** A form for a new key. It sends the public half only; the file of the private half is offered once. */
export function NewKey(props: NewKeyProps) {
  const [name, setName] = useState(props.name ?? "");
  const reason = withoutWebCrypto();
  const [source, setSource] = useState<Source>(reason === undefined ? "here" : "elsewhere");
  const [pasted, setPasted] = useState("");
  const [made, setMade] = useState<{ readonly keyId: string; readonly privateKey: string }>();
  // A repeat after a lost answer sends the same key, so that no key is live whose private half is gone.
  const pair = useRef<KeyPair | undefined>(undefined);

  const create = useAction(async () => {
    if (name.trim() === "")
      throw new Refusal(0, "NAME_MISSING", `${props.nameLabel}: enter 1 to 64 characters.`);
    if (source === "elsewhere") {
      await props.register(name.trim(), pastedKey(pasted));
      props.onDone();
      return;
    }
    pair.current ??= await withBestAlgorithm(generateKey);
    const { publicKey, algorithm, privateKey } = pair.current;
    const keyId = await registered(publicKey, () => props.register(name.trim(), { publicKey, algorithm }));
    setMade({ keyId, privateKey });
  });

  if (made !== undefined) return <SaveKey name={name.trim()} {...made} onSaved={props.onDone} />;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        create.run();
      }}
    >
      <TextField label={props.nameLabel} value={name} onInput={setName} />
      {props.children}
      <Choice
        label="Key"
        value={source}
        choices={[
          ["here", "Make it here, and save its file"],
          ["elsewhere", "Paste a public key of my own"],
        ]}
        onChange={setSource}
      />
      {source === "elsewhere" && (
        <TextArea
          label="Public key"
          value={pasted}
          onInput={setPasted}
          rows={4}
          hint="Ed25519 or P-256, as SPKI PEM. For example: openssl genpkey -algorithm ed25519 -out key.pem, then openssl pkey -in key.pem -pubout."
        />
      )}
      {source === "here" && reason !== undefined && <Note kind="warning">{reason}</Note>}
      <Notice refusal={create.refusal} onDismiss={create.dismiss} />
      <div class="buttons">
        <Button
          kind="main"
          submits
          busy={create.busy}
          reason={source === "here" && reason !== undefined ? reason : undefined}
        >
          {props.action}
        </Button>
        {props.onCancel !== undefined && <Button onClick={props.onCancel}>Cancel</Button>}
      </div>
    </form>
  );
}

/** Registers a key and returns its id. The key of an answer that was lost is found among the live keys. */
async function registered(publicKey: string, register: () => Promise<unknown>): Promise<string> {
  const refusal = await register().then(
    () => undefined,
    (error: unknown) => asRefusal(error),
  );
  const mayBeLive = refusal === undefined || refusal.status === 0 || refusal.code === "KEY_EXISTS";
  if (!mayBeLive) throw refusal;
  const fingerprint = await fingerprintOfPem(publicKey);
  const keys = await call<readonly KeyAnswer[]>("GET", "/v3/keys").catch((error: unknown) => {
    throw refusal ?? asRefusal(error);
  });
  const own = keys.find((key) => key.fingerprint === fingerprint);
  if (own === undefined) throw refusal ?? new Refusal(0, "KEY_NOT_FOUND", "The key is not live. Try again.");
  return own.keyId;
}
