/** Sports, their leagues, and the types of markets. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Leagues as LeaguesAnswer, MarketTypes } from "../../../admin/schemas/reference.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { TextField } from "../../parts/field.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

export function Leagues() {
  return (
    <>
      <LeagueList />
      <TypeList />
    </>
  );
}

function LeagueList() {
  const leagues = useResource(
    (signal) => call<z.infer<typeof LeaguesAnswer>>("GET", "/admin/v1/leagues", { signal }),
    [],
  );
  const [name, setName] = useState("");
  const [sport, setSport] = useState("");
  return (
    <>
      <Form
        title="Add a league"
        submit="Add the league"
        reason={whyNot("markets")}
        send={async () => {
          const body = { name, ...(sport.trim() === "" ? {} : { sport }) };
          await call("POST", "/admin/v1/leagues", { body });
          setName("");
          setSport("");
          leagues.reload();
          return `The league ${body.name} is there. Announce it.`;
        }}
      >
        <TextField label="League" value={name} onInput={setName} required />
        <TextField label="Sport" value={sport} onInput={setSport} hint="Such as FOOTBALL." />
      </Form>
      <h2>Leagues</h2>
      <Loaded of={leagues} what="the leagues">
        {({ items }) => (
          <Table
            stacks
            label="Leagues"
            columns={[
              { title: "League", cell: (league) => league.name },
              { title: "Sport", cell: (league) => league.sport },
            ]}
            rows={items}
            keyOf={(league) => league.name}
            empty={<Empty title="There is no league" />}
          />
        )}
      </Loaded>
    </>
  );
}

function TypeList() {
  const types = useResource(
    (signal) => call<z.infer<typeof MarketTypes>>("GET", "/admin/v1/market-types", { signal }),
    [],
  );
  const [name, setName] = useState("");
  const [promoted, setPromoted] = useState<string>();
  return (
    <>
      <Form
        title="Add a type of markets"
        submit="Add the type"
        reason={whyNot("markets")}
        send={async () => {
          await call("POST", "/admin/v1/market-types", { body: { name } });
          setName("");
          types.reload();
          return `The type ${name} is there. Announce it.`;
        }}
      >
        <TextField label="Type" value={name} onInput={setName} required hint="Such as TOTAL_SETS." />
      </Form>
      <h2>Types</h2>
      <Loaded of={types} what="the types">
        {({ items }) => (
          <Table
            stacks
            label="Types of markets"
            columns={[
              { title: "Type", cell: (type) => type.name },
              {
                title: "Where",
                cell: ({ qaOnly }) => (qaOnly ? "only where EXCHANGE_ENV is qa" : "everywhere"),
              },
              {
                title: "Change",
                cell: (type) =>
                  type.qaOnly && (
                    <Button kind="quiet" reason={whyNot("markets")} onClick={() => setPromoted(type.name)}>
                      Promote
                    </Button>
                  ),
              },
            ]}
            rows={items}
            keyOf={(type) => type.name}
            empty={<Empty title="There is no type" />}
          />
        )}
      </Loaded>
      <Consequence
        title="Promote a type"
        open={promoted !== undefined}
        onClose={() => setPromoted(undefined)}
        confirm="Promote"
        act={async () => {
          await call("PATCH", `/admin/v1/market-types/${promoted ?? ""}`, { body: { qaOnly: false } });
          types.reload();
        }}
      >
        <p>The type {promoted} then exists in every environment, and cannot be hidden again.</p>
      </Consequence>
    </>
  );
}
