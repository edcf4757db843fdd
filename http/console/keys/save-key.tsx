/** The one offer of the file of a new private key. */

import { useEffect, useState } from "preact/hooks";
import { Button } from "../parts/button.js";
import { Copy } from "../parts/copy.js";
import { Note } from "../parts/notice.js";

interface SaveKeyProps {
  readonly name: string;
  readonly keyId: string;
  /** PKCS#8 PEM. */
  readonly privateKey: string;
  readonly onSaved: () => void;
}

/** Returns a name of a file with letters, digits and dashes. */
function fileName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return `overround-${plain.replace(/^-|-$/g, "")}.pem`;
}

/** Offers the file, and stays until it is saved. */
export function SaveKey({ name, keyId, privateKey, onSaved }: SaveKeyProps) {
  const [isSaved, setIsSaved] = useState(false);
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([privateKey], { type: "application/x-pem-file" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [privateKey]);
  return (
    <div data-stays>
      <Note kind="warning">
        <p>
          <strong>Save the file of this key now.</strong> It is offered only once: the service has the public
          half, and this page forgets the private half when you go on. Whoever has the file can do everything
          that the key may.
        </p>
      </Note>
      <dl>
        <dt>Key id</dt>
        <dd>
          <code>{keyId}</code> <Copy text={keyId} label="Copy the key id" />
        </dd>
        <dt>File</dt>
        <dd>
          {url !== undefined && (
            <a href={url} download={fileName(name)} onClick={() => setIsSaved(true)}>
              {fileName(name)}
            </a>
          )}
        </dd>
      </dl>
      <div class="buttons">
        <Button
          kind="main"
          reason={isSaved ? undefined : "Save the file first; it cannot be had later."}
          onClick={onSaved}
        >
          I have saved the file
        </Button>
      </div>
    </div>
  );
}
