/** Restricted regions, and rules about networks. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Geo } from "../../../admin/schemas/exchange.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { TextArea } from "../../parts/field.js";
import { Loaded } from "../../parts/loaded.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

type Rules = z.infer<typeof Geo>;
type Network = Rules["networks"][number];

const LINE = /^(\S+)\s+(VPN|PROXY|TOR|REGION)(?:\s+(\S+))?$/;

export function Regions() {
  const rules = useResource((signal) => call<Rules>("GET", "/admin/v1/geo", { signal }), []);
  return (
    <Loaded of={rules} what="the regions and networks">
      {(value) => <Edit rules={value} onDone={rules.reload} />}
    </Loaded>
  );
}

function lineOf({ cidr, kind, region }: Network): string {
  return [cidr, kind, region ?? ""].join(" ").trim();
}

function Edit({ rules, onDone }: { readonly rules: Rules; readonly onDone: () => void }) {
  const [regions, setRegions] = useState(rules.restrictedRegions.join(" "));
  const [networks, setNetworks] = useState(rules.networks.map(lineOf).join("\n"));
  const lines = networks
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const wrong = lines.find((line) => !LINE.test(line));
  const fault =
    wrong === undefined ? undefined : `Write "${wrong}" as network, kind and, for REGION, region.`;
  return (
    <Form
      title="Regions and networks"
      submit="Replace the rules"
      reason={whyNot("configuration") ?? fault}
      send={async () => {
        const body = {
          restrictedRegions: regions.split(/[\s,]+/).filter((region) => region !== ""),
          networks: lines.map((line) => {
            const [, cidr, kind, region] = LINE.exec(line) ?? [];
            return { cidr, kind, ...(region === undefined ? {} : { region }) };
          }),
        };
        await call("PUT", "/admin/v1/geo", { body });
        onDone();
        return "The rules are in force at every gateway.";
      }}
    >
      <TextArea
        label="Restricted regions"
        value={regions}
        onInput={setRegions}
        hint="ISO 3166-2 codes such as US-WA, or a country code for all of a country, between spaces."
      />
      <TextArea
        label="Networks"
        rows={8}
        value={networks}
        onInput={setNetworks}
        hint="One a line: 192.0.2.0/24 VPN, or 198.51.100.0/24 REGION US-NY. Kinds are VPN, PROXY, TOR and REGION."
        error={fault}
      />
    </Form>
  );
}
