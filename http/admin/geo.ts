/** The rules about regions and networks (contract section 8.13). */

import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { publishGeoRules, readGeoRules, readRules, type GeoRules } from "../../db/queries/operator/geo.js";
import { rangeOf } from "../geo/addresses.js";
import type { Changes } from "../reference/changes.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { auditedAction } from "./audit.js";
import { Geo, GeoBody } from "./schemas/exchange.js";

function shown({ restrictedRegions, networks }: GeoRules) {
  return {
    restrictedRegions: [...restrictedRegions],
    networks: networks.map(({ cidr, kind, region }) => ({
      cidr,
      kind,
      ...(region === null ? {} : { region }),
    })),
  };
}

function rulesOf({ restrictedRegions, networks }: (typeof GeoBody)["_output"]): GeoRules {
  return {
    restrictedRegions: [...new Set(restrictedRegions)].toSorted(),
    networks: networks.map(({ cidr, kind, region = null }, index) => {
      const refuse = (reason: string): never => {
        throw new Refused("INVALID_BODY", `networks[${index}]${reason}`);
      };
      if (rangeOf(cidr) === undefined) refuse(`.cidr: ${cidr} has bits set after its prefix; clear them`);
      if (kind === "REGION" && region === null) refuse(".region is missing; a REGION rule needs one");
      if (kind !== "REGION" && region !== null) refuse(`.region: a ${kind} rule has no region; leave it out`);
      return { cidr, kind, region };
    }),
  };
}

export function geoRoutes({ db, changes }: { readonly db: Database; readonly changes: Changes }) {
  const read = route("GET /admin/v1/geo", {
    access: operatorWith("read"),
    answer: Geo,
    docs: {
      summary: "Retrieve the location rules",
      description: "Returns the restricted regions and the networks with a rule of their own.",
    },
    run: async () => ({ body: shown(await readGeoRules(db)) }),
  });

  const put = route("PUT /admin/v1/geo", {
    access: operatorWith("configuration"),
    body: GeoBody,
    answer: Geo,
    docs: {
      summary: "Replace the location rules",
      description:
        "Replaces the restricted regions and the rules of networks. The rules take effect at every gateway.",
      exampleBody: { restrictedRegions: ["US-WA"], networks: [{ cidr: "192.0.2.0/24", kind: "VPN" }] },
    },
    run: async ({ body, ...call }) => {
      const { caller, incoming } = call;
      const rules = rulesOf(body);
      await db.transaction(async (tx) => {
        const by = { publishedBy: caller.accountId, publishedTs: incoming.receivedMs };
        const before = shown(await publishGeoRules(tx, { ...rules, ...by }));
        const after = shown(await readRules(tx));
        const record = { action: "geo.publish", subject: "geo", before, after };
        await recordAudit(tx, auditedAction(call, record));
      });
      await changes.publish("geo", "current");
      return { body: shown(await readGeoRules(db)) };
    },
  });

  return [read, put];
}
