/** Bodies and answers about maintenance, the changelog, and regions and networks (contract sections 8.13 to 8.15). */

import { z } from "zod";
import { NETWORK_KINDS } from "../../../db/schema/exchange.js";
import { Ms, oneOf, Region, Text } from "../../request/fields.js";

export const MaintenanceBody = z.strictObject({
  action: oneOf(["begin", "end"]),
  message: Text(500).optional(),
});
export const Maintenance = z.strictObject({
  active: z.boolean(),
  message: z.string().nullable(),
  sinceTs: Ms.nullable(),
});

export const ClockBody = z.strictObject({ action: oneOf(["confirm"]) });
export const Clocks = z.strictObject({
  heldMs: z.int(),
  hosts: z.record(z.string(), z.int()),
});

export const Quarantine = z.strictObject({
  items: z.array(
    z.strictObject({
      messageId: z.uuid(),
      actorId: z.string(),
      ts: Ms,
      reason: z.string(),
      message: z.string(),
    }),
  ),
});

export const ChangeBody = z.strictObject({
  title: Text(200),
  body: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(10_000, "must have at most 10000 characters"),
  effectiveTs: z.int("must be a time in Unix ms").nonnegative("must be a time in Unix ms"),
});
export const Change = z.strictObject({
  changeId: z.uuid(),
  title: z.string(),
  body: z.string(),
  effectiveTs: Ms,
  createdTs: Ms,
});

const NetworkRule = z.strictObject({
  cidr: z.union([z.cidrv4(), z.cidrv6()], "must be a network in CIDR notation, such as 192.0.2.0/24"),
  kind: oneOf(NETWORK_KINDS),
  region: Region.optional(),
});
export const GeoBody = z.strictObject({
  restrictedRegions: z
    .array(Region, "must be a list of regions")
    .max(1_000, "must have at most 1000 regions"),
  networks: z.array(NetworkRule, "must be a list of networks"),
});
export const Geo = z.strictObject({
  restrictedRegions: z.array(z.string()),
  networks: z.array(
    z.strictObject({ cidr: z.string(), kind: z.enum(NETWORK_KINDS), region: z.string().optional() }),
  ),
});
