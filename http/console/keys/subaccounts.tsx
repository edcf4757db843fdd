/** The trader's subaccounts: each is a wallet with keys of its own. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { Refusal } from "../data/refusal.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { Choice, TextField } from "../parts/field.js";
import { Empty } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table, type Column } from "../parts/table.js";
import { Money } from "../parts/values.js";
import { callWithKeyFile } from "../trading/key-file.js";
import { KeyFileField } from "../trading/key-file-field.js";
import { TransferDialog } from "../trading/transfer-dialog.js";
import { WEB, webKeyState } from "../trading/web-key.js";
import { WebKeyPanel } from "../trading/web-key-panel.js";
import { NewKey } from "./new-key.js";
import type { KeyAnswer, OwnKeys, SubaccountAnswer } from "./own-keys.js";

interface SubaccountsProps extends OwnKeys {
  readonly onChanged: () => void;
}

/** Action on one subaccount that is open in a dialog. */
interface Chosen {
  readonly kind: "money" | "key" | "rename" | "close";
  readonly subaccount: SubaccountAnswer;
}

function traderOf({ label }: SubaccountAnswer, keys: readonly KeyAnswer[]): ComponentChildren {
  const live = keys.find(({ restriction, scope }) => restriction === label && scope === "trading");
  if (live === undefined) return "nobody: it has no live trading key";
  if (label !== WEB) return `key ${live.name}`;
  switch (webKeyState.value.kind) {
    case "here":
      return "this browser";
    case "elsewhere":
      return "another browser";
    default:
      return "a browser";
  }
}

/** Lists the subaccounts with their money, and opens, funds, renames and closes them. */
export function Subaccounts({ subaccounts, keys, onChanged }: SubaccountsProps) {
  const [chosen, setChosen] = useState<Chosen>();
  const [isOpening, setIsOpening] = useState(false);
  const close = (): void => {
    setChosen(undefined);
    setIsOpening(false);
    onChanged();
  };
  const acting = (kind: Chosen["kind"], subaccount: SubaccountAnswer, text: string) => (
    <Button
      kind="quiet"
      label={`${text}: ${subaccount.label}`}
      onClick={() => setChosen({ kind, subaccount })}
    >
      {text}
    </Button>
  );
  const columns: readonly Column<SubaccountAnswer>[] = [
    { title: "Subaccount", cell: ({ label }) => <strong>{label}</strong> },
    { title: "Money", cell: ({ balance }) => <Money value={balance} />, numeric: true },
    { title: "Trades with", cell: (subaccount) => traderOf(subaccount, keys) },
    {
      title: "Actions",
      cell: (subaccount) => (
        <span class="keys-actions">
          {acting("money", subaccount, "Move money")}
          {acting("key", subaccount, "New key")}
          {acting("rename", subaccount, "Rename")}
          {acting("close", subaccount, "Close")}
        </span>
      ),
    },
  ];
  return (
    <section>
      <h2>Subaccounts</h2>
      <Table
        label="Subaccounts"
        stacks
        columns={columns}
        rows={subaccounts}
        keyOf={({ keyId }) => keyId}
        empty={
          <Empty title="No subaccounts yet">
            <p>
              Orders are placed from a subaccount. Open {WEB} to trade on these pages, or one for a program of
              yours.
            </p>
          </Empty>
        }
      />
      <div class="keys-web">
        <WebKeyPanel onChanged={onChanged} />
      </div>
      <div class="buttons">
        <Button onClick={() => setIsOpening(true)}>Open a subaccount for a program</Button>
      </div>
      <Dialog title="Open a subaccount" open={isOpening} onClose={close}>
        <p>It opens with the key that trades in it. A trader has at most 5 open subaccounts.</p>
        <NewKey
          nameLabel="Name of the subaccount"
          action="Open the subaccount"
          register={(label, key) => call("POST", "/v3/account/subaccounts", { body: { label, ...key } })}
          onDone={close}
          onCancel={close}
        />
      </Dialog>
      {chosen?.kind === "money" && (
        <TransferDialog subaccount={chosen.subaccount} open onClose={close} onMoved={onChanged} />
      )}
      <Dialog title={titleOf(chosen)} open={chosen !== undefined && chosen.kind !== "money"} onClose={close}>
        {chosen !== undefined && <Chosen {...chosen} keys={keys} onDone={close} />}
      </Dialog>
    </section>
  );
}

function titleOf(chosen: Chosen | undefined): string {
  if (chosen === undefined) return "";
  const { kind, subaccount } = chosen;
  const verbs = { money: "Move money", key: "New key", rename: "Rename", close: "Close" } as const;
  return `${verbs[kind]}: ${subaccount.label}`;
}

interface ChosenProps extends Chosen {
  readonly keys: readonly KeyAnswer[];
  readonly onDone: () => void;
}

function Chosen({ kind, subaccount, keys, onDone }: ChosenProps) {
  switch (kind) {
    case "money":
      return null;
    case "key":
      return <KeyOfSubaccount subaccount={subaccount} keys={keys} onDone={onDone} />;
    case "rename":
      return <Rename subaccount={subaccount} onDone={onDone} />;
    case "close":
      return <Close subaccount={subaccount} onDone={onDone} />;
    default:
      return kind satisfies never;
  }
}

type SubaccountScope = "trading" | "trading::read";

function KeyOfSubaccount({ subaccount, keys, onDone }: Omit<ChosenProps, "kind">) {
  const { keyId, label } = subaccount;
  const trades = keys.some(({ restriction, scope }) => restriction === label && scope === "trading");
  const [chosen, setChosen] = useState<SubaccountScope>("trading::read");
  const scope = trades ? "trading::read" : chosen;
  const choices: readonly (readonly [SubaccountScope, string])[] = [
    ["trading::read", "It reads orders, fills and money"],
    ["trading", "It trades"],
  ];
  return (
    <NewKey
      nameLabel="Name of the key"
      action="Make the key"
      register={(name, key) =>
        call("POST", `/v3/account/subaccounts/${keyId}/keys`, { body: { name, scope, ...key } })
      }
      onDone={onDone}
      onCancel={onDone}
    >
      <Choice
        label="Scope"
        value={scope}
        choices={trades ? choices.slice(0, 1) : choices}
        onChange={setChosen}
        hint={
          trades ? "A live key trades in this subaccount already; revoke it to make another one." : undefined
        }
      />
    </NewKey>
  );
}

interface OneProps {
  readonly subaccount: SubaccountAnswer;
  readonly onDone: () => void;
}

function Rename({ subaccount, onDone }: OneProps) {
  const [label, setLabel] = useState(subaccount.label);
  const [file, setFile] = useState<File>();
  const rename = useAction(async () => {
    if (file === undefined)
      throw new Refusal(
        0,
        "KEY_FILE_MISSING",
        "Choose the file of the management key, which signs the change.",
      );
    const path = `/v3/account/subaccounts/${subaccount.keyId}`;
    await callWithKeyFile(file, "PATCH", path, { body: { label: label.trim() } });
    onDone();
  });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        rename.run();
      }}
    >
      {subaccount.label === WEB && (
        <p>These pages trade in the subaccount that is called {WEB}. Under another name they no longer do.</p>
      )}
      <TextField label="Name of the subaccount" value={label} onInput={setLabel} />
      <KeyFileField onChoose={setFile} />
      <Notice refusal={rename.refusal} onDismiss={rename.dismiss} />
      <div class="buttons">
        <Button kind="main" submits busy={rename.busy}>
          Rename
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}

function Close({ subaccount, onDone }: OneProps) {
  const close = useAction(async () => {
    await call("DELETE", `/v3/account/subaccounts/${subaccount.keyId}`);
    onDone();
  });
  return (
    <>
      <p>
        A subaccount closes when it has no money, no positions and no open orders. Its keys are revoked, and
        programs that use them stop working. It cannot be opened again; its history stays.
      </p>
      <Notice refusal={close.refusal} onDismiss={close.dismiss} />
      <div class="buttons">
        <Button kind="danger" busy={close.busy} onClick={close.run}>
          Close the subaccount for ever
        </Button>
        <Button onClick={onDone}>Keep it</Button>
      </div>
    </>
  );
}
