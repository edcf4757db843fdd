/** Page of the trader's keys and subaccounts. */

import { useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { Refusal } from "../data/refusal.js";
import { useResource } from "../data/resource.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Loaded, Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table, type Column } from "../parts/table.js";
import { Time } from "../parts/values.js";
import { callWithKeyFile } from "../trading/key-file.js";
import { KeyFileField } from "../trading/key-file-field.js";
import { checkWebKey } from "../trading/web-key.js";
import { NewKey, type PublicHalf } from "./new-key.js";
import { readOwnKeys, scopeInWords, type KeyAnswer } from "./own-keys.js";
import { revokes } from "./revoking.js";
import { Subaccounts } from "./subaccounts.js";
import "./keys.css";

export default function Keys() {
  const owned = useResource(readOwnKeys, []);
  const reload = (): void => {
    owned.reload();
    void checkWebKey();
  };
  return (
    <div class="keys">
      <h1>Keys</h1>
      <p>
        A key signs the requests of a program. The service knows only its public half; the private half is a
        file of yours. The management key moves money and makes other keys; each subaccount has one key that
        trades in it.
      </p>
      <Loaded of={owned} what="your keys" waiting={<Skeleton rows={8} isPage />}>
        {({ keys, subaccounts }) => (
          <>
            <Management keys={keys} onChanged={reload} />
            <Subaccounts subaccounts={subaccounts} keys={keys} onChanged={reload} />
            <LiveKeys keys={keys} onChanged={reload} />
          </>
        )}
      </Loaded>
    </div>
  );
}

interface KeysProps {
  readonly keys: readonly KeyAnswer[];
  readonly onChanged: () => void;
}

/** The management key: how to get it, and once it is there, the keys that read what it may read. */
function Management({ keys, onChanged }: KeysProps) {
  const [isMaking, setIsMaking] = useState(false);
  const held = keys.find(({ scope }) => scope === "management");
  const close = (): void => {
    setIsMaking(false);
    onChanged();
  };
  return (
    <section>
      <h2>Management key</h2>
      {held === undefined ? (
        <p>
          You have none. It moves money between your account and your subaccounts, so keep its file safe. You
          have one at a time.
        </p>
      ) : (
        <p>
          <strong>{held.name}</strong>, {held.algorithm}, made <Time ms={held.createdAt} />. Its file signs
          transfers on this page. If the file is lost, revoke the key and make another one.
        </p>
      )}
      <Button kind={held === undefined ? "main" : "plain"} onClick={() => setIsMaking(true)}>
        {held === undefined ? "Make a management key" : "Make a key that reads the account"}
      </Button>
      <Dialog
        title={held === undefined ? "Make a management key" : "Make a key that reads the account"}
        open={isMaking}
        onClose={close}
      >
        {held === undefined ? (
          <NewKey
            nameLabel="Name of the key"
            name="management"
            action="Make the key"
            register={(name, key) => call("POST", "/v3/keys", { body: { name, ...key } })}
            onDone={close}
            onCancel={close}
          />
        ) : (
          <ReadingKey onDone={close} />
        )}
      </Dialog>
    </section>
  );
}

/** A key that reads what the management key may read; the management key makes it. */
function ReadingKey({ onDone }: { readonly onDone: () => void }) {
  const [file, setFile] = useState<File>();
  const register = async (name: string, key: PublicHalf): Promise<void> => {
    if (file === undefined)
      throw new Refusal(
        0,
        "KEY_FILE_MISSING",
        "Choose the file of the management key, which makes this key.",
      );
    await callWithKeyFile(file, "POST", "/v3/keys", { body: { name, ...key } });
  };
  return (
    <NewKey
      nameLabel="Name of the key"
      action="Make the key"
      register={register}
      onDone={onDone}
      onCancel={onDone}
    >
      <KeyFileField onChoose={setFile} />
    </NewKey>
  );
}

const COLUMNS: readonly Column<KeyAnswer>[] = [
  { title: "Name", cell: ({ name }) => name },
  { title: "Scope", cell: scopeInWords },
  { title: "Last use", cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Time ms={lastUsedAt} />) },
  {
    title: "Expires",
    cell: ({ expiresAt }) => (expiresAt === null ? "never" : <Time ms={expiresAt} />),
    wide: true,
  },
  { title: "Algorithm", cell: ({ algorithm }) => algorithm, wide: true },
  { title: "Key id", cell: ({ keyId }) => <code>{keyId}</code>, wide: true },
];

/** The live keys; each can be revoked. */
function LiveKeys({ keys, onChanged }: KeysProps) {
  const [chosen, setChosen] = useState<KeyAnswer>();
  const revoke = useAction(async (key: KeyAnswer) => {
    await call("DELETE", `/v3/keys/${key.keyId}`);
    setChosen(undefined);
    onChanged();
  });
  const close = (): void => {
    setChosen(undefined);
    revoke.dismiss();
  };
  const last: Column<KeyAnswer> = {
    title: "Action",
    cell: (key) => (
      <Button kind="quiet" label={`Revoke ${key.name}`} onClick={() => setChosen(key)}>
        Revoke
      </Button>
    ),
  };
  return (
    <section>
      <h2>Live keys</h2>
      <Table
        label="Live keys"
        columns={[...COLUMNS, last]}
        rows={keys}
        keyOf={({ keyId }) => keyId}
        empty={
          <Empty title="No keys yet">
            <p>
              Make a management key above, and open a subaccount; both come with a key that is listed here.
            </p>
          </Empty>
        }
      />
      <Dialog title={`Revoke ${chosen?.name ?? ""}`} open={chosen !== undefined} onClose={close}>
        {chosen !== undefined && (
          <>
            {revokes(chosen).map((sentence) => (
              <p key={sentence}>{sentence}</p>
            ))}
            <Notice refusal={revoke.refusal} onDismiss={revoke.dismiss} />
            <div class="buttons">
              <Button kind="danger" busy={revoke.busy} onClick={() => revoke.run(chosen)}>
                Revoke the key for ever
              </Button>
              <Button onClick={close}>Keep it</Button>
            </div>
          </>
        )}
      </Dialog>
    </section>
  );
}
