/** Players, whom a market may be about. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Player } from "../../../admin/schemas/reference.js";
import { call } from "../../data/api.js";
import { TextField } from "../../parts/field.js";
import { Paged } from "../paged.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

export function Players() {
  const [name, setName] = useState("");
  const [fullName, setFullName] = useState("");
  const [position, setPosition] = useState("");
  const [league, setLeague] = useState("");
  const [team, setTeam] = useState("");
  const [version, setVersion] = useState(0);
  const given = (field: string, value: string) => (value.trim() === "" ? {} : { [field]: value });
  const hasTeam = league.trim() !== "" || team.trim() !== "";
  return (
    <>
      <Form
        title="Add a player"
        submit="Add the player"
        reason={whyNot("markets")}
        send={async () => {
          const body = {
            name,
            ...given("fullName", fullName),
            ...given("position", position),
            ...(hasTeam ? { team: { league, name: team } } : {}),
          };
          await call("POST", "/admin/v1/players", { body });
          for (const set of [setName, setFullName, setPosition, setLeague, setTeam]) set("");
          setVersion(version + 1);
          return `${body.name} is there.`;
        }}
      >
        <TextField label="Name" value={name} onInput={setName} required />
        <TextField label="Full name" value={fullName} onInput={setFullName} />
        <TextField label="Position" value={position} onInput={setPosition} />
        <TextField label="League of the team" value={league} onInput={setLeague} />
        <TextField label="Team" value={team} onInput={setTeam} />
      </Form>
      <h2>Players</h2>
      <Paged
        path="/admin/v1/players"
        version={version}
        label="Players"
        columns={[
          { title: "Name", cell: (player) => player.name },
          { title: "Full name", cell: (player) => player.fullName },
          { title: "Position", cell: (player) => player.position ?? "" },
          { title: "Id", cell: ({ playerId }) => <span class="operator-id">{playerId}</span>, wide: true },
        ]}
        keyOf={({ playerId }: z.infer<typeof Player>) => playerId}
        empty="There is no player"
      />
    </>
  );
}
