/** Clients of external market makers on surface B. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { EmmClient, EmmClientSecret } from "../../../admin/schemas/makers.js";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { Button } from "../../parts/button.js";
import { TextField } from "../../parts/field.js";
import { Note } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import { Consequence } from "../consequence.js";
import { Paged } from "../paged.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

type Client = z.infer<typeof EmmClient>;
type Secret = z.infer<typeof EmmClientSecret>;

export function Makers() {
  const [name, setName] = useState("");
  const [keyId, setKeyId] = useState("");
  const [secret, setSecret] = useState<Secret>();
  const [version, setVersion] = useState(0);
  const [open, setOpen] = useState<{ readonly kind: "rotate" | "delete"; readonly client: Client }>();
  const reload = (): void => setVersion(version + 1);
  const path = `/admin/v1/emm-clients/${open?.client.clientId ?? ""}`;
  return (
    <>
      {secret !== undefined && (
        <div data-stays>
          <Note kind="warning">
            <p>The secret is shown only now: hand it to the market maker.</p>
            <pre>{`client_id ${secret.clientId}\nclient_secret ${secret.clientSecret}`}</pre>
            <Button onClick={() => setSecret(undefined)}>It is handed over</Button>
          </Note>
        </div>
      )}
      <Form
        title="Add a client"
        submit="Add the client"
        reason={whyNot("accounts")}
        send={async () => {
          const body = { subaccountKeyId: keyId.trim(), name };
          setSecret(await call<Secret>("POST", "/admin/v1/emm-clients", { body }));
          setName("");
          setKeyId("");
          reload();
          return "The client is there.";
        }}
      >
        <TextField label="Name" value={name} onInput={setName} required />
        <TextField
          label="Key of the subaccount"
          value={keyId}
          onInput={setKeyId}
          required
          hint="The id of any key of the subaccount that the client trades in; the desk shows it."
        />
      </Form>
      <h2>Clients</h2>
      <Paged
        path="/admin/v1/emm-clients"
        version={version}
        label="Clients of market makers"
        columns={[
          { title: "Name", cell: (client) => client.name },
          {
            title: "Subaccount",
            cell: ({ traderId, label }) => <Link to={`/operator/desk/${traderId}`}>{label}</Link>,
          },
          { title: "Since", cell: ({ createdTs }) => <Time ms={createdTs} />, wide: true },
          {
            title: "Secret of",
            cell: ({ rotatedTs, createdTs }) => <Time ms={rotatedTs ?? createdTs} />,
            wide: true,
          },
          {
            title: "Change",
            cell: (client) => (
              <>
                <Button
                  kind="quiet"
                  reason={whyNot("accounts")}
                  label={`New secret for ${client.name}`}
                  onClick={() => setOpen({ kind: "rotate", client })}
                >
                  New secret
                </Button>{" "}
                <Button
                  kind="quiet"
                  reason={whyNot("accounts")}
                  label={`Remove ${client.name}`}
                  onClick={() => setOpen({ kind: "delete", client })}
                >
                  Remove
                </Button>
              </>
            ),
          },
        ]}
        keyOf={({ clientId }: Client) => clientId}
        empty="No market maker has a client"
      />
      <Consequence
        title={open?.kind === "delete" ? "Remove a client" : "Make a new secret"}
        open={open !== undefined}
        onClose={() => setOpen(undefined)}
        confirm={open?.kind === "delete" ? "Remove the client" : "Make a new secret"}
        act={async () => {
          if (open?.kind === "delete") await call("DELETE", path);
          else setSecret(await call<Secret>("POST", `${path}/rotate`));
          reload();
        }}
      >
        <p>
          {open?.kind === "delete"
            ? `The tokens of ${open.client.name} end at once. Its orders stay in the books.`
            : `The old secret of ${open?.client.name ?? ""} and its tokens end at once.`}
        </p>
      </Consequence>
    </>
  );
}
