/** Check of a pasted signature with a pasted public key. */

import { useEffect, useState } from "preact/hooks";
import type { KeyAlgorithm } from "../../auth/canonical.js";
import { TextArea } from "../parts/field.js";
import { Note } from "../parts/notice.js";
import { fromBase64, fromPem, verifyText } from "../trading/web-crypto.js";

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Bytes of a signature that is not in DER: of Ed25519, or r and s of P-256 side by side. */
const RAW_BYTES = 64;

interface Verdict {
  readonly good: boolean;
  readonly words: string;
}

const bad = (words: string): Verdict => ({ good: false, words });

/** Returns what is to be said about a signature, with the most likely mistake when it is wrong. */
async function judge(
  text: string,
  signature: string,
  publicKey: string,
  algorithm: KeyAlgorithm,
): Promise<Verdict> {
  const spki = fromPem("PUBLIC KEY", publicKey);
  if (spki === undefined)
    return bad(
      "The public key is not one PEM block, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----.",
    );
  const bytes = BASE64.test(signature) ? fromBase64(signature) : undefined;
  if (bytes === undefined)
    return bad(
      "The signature is not standard base64 with padding: it has the characters A-Z a-z 0-9 + / and ends in =.",
    );
  const verdict = await verifyText(text, bytes, spki, algorithm);
  if (verdict === "unsupported")
    return bad(`The public key is not a key of ${algorithm}, or this browser does not know ${algorithm}.`);
  if (verdict)
    return { good: true, words: "This signature is good: the service accepts it with this request." };
  if (algorithm === "P-256" && bytes.length === RAW_BYTES)
    return bad("The signature has r and s side by side. Encode it in DER.");
  if (algorithm === "Ed25519" && bytes.length !== RAW_BYTES)
    return bad(`The signature has ${bytes.length} bytes, and one of Ed25519 has ${RAW_BYTES}.`);
  if ((await verifyText(`${text}\n`, bytes, spki, algorithm)) === true)
    return bad("The signature is of the text with a line feed at its end. Sign the text without it.");
  return bad(
    "The signature is not of this text by this key. Compare your canonical text with the one above.",
  );
}

interface CheckSignatureProps {
  /** Canonical text, when it is known. */
  readonly text: string | undefined;
  readonly algorithm: KeyAlgorithm;
}

/** Fields for a public key and a signature, and the verdict. */
export function CheckSignature({ text, algorithm }: CheckSignatureProps) {
  const [publicKey, setPublicKey] = useState("");
  const [signature, setSignature] = useState("");
  const [verdict, setVerdict] = useState<Verdict>();
  useEffect(() => {
    setVerdict(undefined);
    if (text === undefined || publicKey.trim() === "" || signature.trim() === "") return;
    let isLatest = true;
    void judge(text, signature.trim(), publicKey, algorithm).then((judged) => {
      if (isLatest) setVerdict(judged);
    });
    return () => {
      isLatest = false;
    };
  }, [text, publicKey, signature, algorithm]);
  return (
    <>
      <TextArea label="Public key" value={publicKey} onInput={setPublicKey} rows={3} hint="SPKI PEM." />
      <TextArea label="Signature" value={signature} onInput={setSignature} rows={2} hint="Standard base64." />
      {verdict !== undefined && <Note kind={verdict.good ? "done" : "warning"}>{verdict.words}</Note>}
    </>
  );
}
