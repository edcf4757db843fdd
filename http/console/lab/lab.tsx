/** Page that shows how a request is signed, checks signatures, and prints programs that sign. */

import { useEffect, useState } from "preact/hooks";
import { canonicalQuery, canonicalText, type KeyAlgorithm } from "../../auth/canonical.js";
import { settings } from "../data/settings.js";
import { Button } from "../parts/button.js";
import { Copy } from "../parts/copy.js";
import { Choice, TextArea, TextField } from "../parts/field.js";
import { Note } from "../parts/notice.js";
import { Tabs } from "../parts/tabs.js";
import { sha256Hex, withoutWebCrypto } from "../trading/web-crypto.js";
import { CheckSignature } from "./check-signature.js";
import { curl, python, typeScript, type LabRequest } from "./snippets.js";
import "./lab.css";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type LabMethod = (typeof METHODS)[number];

const UUID = "00000000-0000-0000-0000-000000000000";
const EXAMPLE = {
  path: "/v3/echo",
  query: "",
  body: '{"hello":"world"}',
} as const;

/** Spells the characters that no target has in UTF-8 and escapes, as programs send them. */
function asSent(text: string): string {
  return text.replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Returns the SHA-256 of a text, and nothing while it is computed or where this page has no WebCrypto. */
function useDigest(text: string): string | undefined {
  const [digest, setDigest] = useState<{ readonly text: string; readonly hex: string }>();
  useEffect(() => {
    if (withoutWebCrypto() !== undefined) return;
    let isLatest = true;
    void sha256Hex(new TextEncoder().encode(text)).then((hex) => {
      if (isLatest) setDigest({ text, hex });
    });
    return () => {
      isLatest = false;
    };
  }, [text]);
  return digest?.text === text ? digest.hex : undefined;
}

export default function Lab() {
  const [method, setMethod] = useState<LabMethod>("POST");
  const [path, setPath] = useState<string>(EXAMPLE.path);
  const [query, setQuery] = useState<string>(EXAMPLE.query);
  const [body, setBody] = useState<string>(EXAMPLE.body);
  const [timestamp, setTimestamp] = useState(() => String(Date.now()));
  const [algorithm, setAlgorithm] = useState<KeyAlgorithm>("Ed25519");
  const [keyId, setKeyId] = useState("");
  const bodyDigest = useDigest(body);
  const { brand } = settings;
  const reason = withoutWebCrypto();
  const parts = { brand, timestamp, method, path: asSent(path), query: asSent(query) };
  const text = bodyDigest === undefined ? undefined : canonicalText({ ...parts, bodyDigest });
  const request: LabRequest = {
    origin: window.location.origin,
    brand,
    algorithm,
    keyId: keyId.trim() === "" ? UUID : keyId.trim(),
    method,
    path: parts.path,
    query: canonicalQuery(parts.query),
    body,
  };
  return (
    <>
      <h1>Signature lab</h1>
      <p class="lab-about">
        A program signs the canonical text of each request with its private key. Describe a request here and
        compare your text and your signature with those of the service. Nothing that you enter is sent.
      </p>
      {reason !== undefined && <Note kind="warning">{reason}</Note>}
      <div class="lab">
        <section>
          <h2>Request</h2>
          <Choice
            label="Method"
            value={method}
            choices={METHODS.map((one) => [one, one] as const)}
            onChange={setMethod}
          />
          <TextField
            label="Path"
            value={path}
            onInput={setPath}
            error={path.includes("?") ? "Move what follows the ? into the query." : undefined}
          />
          <TextField
            label="Query"
            value={query}
            onInput={setQuery}
            hint="As it is sent, without the question mark."
          />
          <TextArea
            label="Body"
            value={body}
            onInput={setBody}
            hint="Byte for byte; empty when there is none."
          />
          <TextField
            label="Timestamp"
            value={timestamp}
            onInput={setTimestamp}
            inputMode="numeric"
            hint="Milliseconds since 1970, at most 30 s away from the clock of the service."
          />
          <Button onClick={() => setTimestamp(String(Date.now()))}>Set the time to now</Button>
        </section>
        <section>
          <h2>Canonical text</h2>
          <pre class="lab-text" data-testid="canonical-text" tabIndex={0} aria-label="Canonical text">
            {text ?? ""}
          </pre>
          {text !== undefined && <Copy text={text} label="Copy the canonical text" />}
          <p class="quiet">
            Six lines, joined by line feeds, without one at the end: scheme, timestamp, method, path, query in
            canonical form, and the SHA-256 of the body.
          </p>
          <h2>Check a signature</h2>
          <Choice<KeyAlgorithm>
            label="Algorithm"
            value={algorithm}
            choices={[
              ["Ed25519", "Ed25519"],
              ["P-256", "P-256 (ECDSA with SHA-256, in DER)"],
            ]}
            onChange={setAlgorithm}
          />
          <CheckSignature text={text} algorithm={algorithm} />
        </section>
      </div>
      <section>
        <h2>The same request as a program</h2>
        <div class="form">
          <TextField
            label="Key id"
            value={keyId}
            onInput={setKeyId}
            hint="Id of your key, as the page Keys shows it. The program reads the private key from key.pem."
          />
        </div>
        <Tabs
          name="program"
          label="Language of the program"
          tabs={[
            ["curl", "curl"],
            ["typescript", "TypeScript"],
            ["python", "Python"],
          ]}
        >
          {(language) => <Program text={programs[language](request)} />}
        </Tabs>
      </section>
    </>
  );
}

const programs = { curl, typescript: typeScript, python } as const;

function Program({ text }: { readonly text: string }) {
  return (
    <>
      <Copy text={text} label="Copy the program" />
      <pre class="lab-program" data-testid="program" tabIndex={0} aria-label="Program">
        {text}
      </pre>
    </>
  );
}
