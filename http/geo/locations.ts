/**
 * From where one may trade (specification, Location checks; contract section 5): the address that a request comes
 * from, and where the trader's device last said it was.
 */

import type { DeviceLocation } from "../../db/queries/accounts/device-locations.js";
import { Refused, type Code } from "../request/errors.js";
import type { GeoTable } from "./geo-table.js";
import type { AddressDirectory } from "./geoip.js";
import type { Reference } from "../reference/reference.js";

/** A request as the location checks see it: whose it is, where it comes from and what it is for. */
interface Origin {
  readonly traderId: string;
  readonly ip: string;
  readonly purpose: "read" | "placing";
  readonly nowMs: number;
}

/** Location checks of a gateway. */
export interface Locations {
  /** Returns the code of the refusal, or `undefined` when the trader may trade from there. */
  check(origin: Origin): Promise<Code | undefined>;
}

/** Refuses a request from a location that may not trade. */
export async function refuseLocation(locations: Locations, origin: Origin): Promise<void> {
  const refusal = await locations.check(origin);
  if (refusal !== undefined) throw new Refused(refusal);
}

/** A placement needs a check-in no older than this. */
const PLACING_MAX_AGE_MS = 3 * 24 * 60 * 60 * 1_000;

/**
 * The operator's rules say what they know of an address; what they do not say, the GeoIP files may. An address that
 * nobody knows passes, and so do loopback and private ones unless a rule names them.
 */
export function tradingLocations(
  reference: Pick<Reference, "geoRules" | "location">,
  files: AddressDirectory,
): Locations {
  return {
    async check({ traderId, ip, purpose, nowMs }) {
      const rules = await reference.geoRules();
      const refusal = judgeAddress(rules, files, ip);
      if (refusal !== undefined) return refusal;
      return judgeDevice(rules, await reference.location(traderId), purpose, nowMs);
    },
  };
}

function judgeAddress(rules: GeoTable, files: AddressDirectory, ip: string): Code | undefined {
  const said = rules.find(ip);
  const known = files.find(ip);
  if (said.anonymous || known.anonymous) return "ANONYMIZED_NETWORK";
  const region = said.region ?? known.region;
  return region !== undefined && rules.isRestricted(region) ? "RESTRICTED_NETWORK_REGION" : undefined;
}

function judgeDevice(
  rules: GeoTable,
  location: DeviceLocation | undefined,
  purpose: "read" | "placing",
  nowMs: number,
): Code | undefined {
  if (location === undefined) return "GEOLOCATION_NOT_FOUND";
  if (location.failed) return "GEOLOCATION_FAILED";
  if (location.region === null) return "INVALID_GEOLOCATION_REGION";
  if (rules.isRestricted(location.region)) return "RESTRICTED_GEOLOCATION_REGION";
  const expired = purpose === "placing" && nowMs - location.ts > PLACING_MAX_AGE_MS;
  return expired ? "GEOLOCATION_EXPIRED" : undefined;
}
