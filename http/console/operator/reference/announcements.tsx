/** Announcements of the changelog, which everybody reads under Status. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Change } from "../../../admin/schemas/exchange.js";
import { call } from "../../data/api.js";
import { TextArea, TextField } from "../../parts/field.js";
import { Time } from "../../parts/values.js";
import { Paged } from "../paged.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

type Announcement = z.infer<typeof Change>;

export function Announcements() {
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const [effective, setEffective] = useState("");
  const [version, setVersion] = useState(0);
  const effectiveTs = effective === "" ? Date.now() : Date.parse(effective);
  return (
    <>
      <Form
        title="Announce a change"
        submit="Announce"
        reason={whyNot("service")}
        send={async () => {
          await call("POST", "/admin/v1/changelog", { body: { title, body, effectiveTs } });
          setTitle("");
          setBody("");
          setEffective("");
          setVersion(version + 1);
          return "Announced. Everybody reads it under Status.";
        }}
      >
        <TextField label="Title" value={title} onInput={setTitle} required />
        <TextArea label="What changes, and what to do" value={body} onInput={setBody} />
        <TextField
          label="Takes effect"
          type="datetime-local"
          value={effective}
          onInput={setEffective}
          hint="Empty: now. An announcement with a time ahead is planned."
        />
      </Form>
      <h2>Announced</h2>
      <Paged
        path="/v3/public/changelog"
        version={version}
        label="Announcements"
        columns={[
          { title: "Takes effect", cell: ({ effectiveTs: ts }) => <Time ms={ts} /> },
          { title: "Title", cell: ({ title: name }) => name },
          { title: "Text", cell: ({ body: text }) => text, wide: true },
        ]}
        keyOf={({ changeId }: Announcement) => changeId}
        empty="Nothing has been announced"
      />
    </>
  );
}
