/**
 * Location checks: the address of the request, and the last check-in of the trader's device (specification, Location
 * checks; contract section 5.9).
 */

import type { DeviceLocation } from "../../db/queries/accounts/device-locations.js";
import { Refused, type Code } from "../request/errors.js";
import { MAX_CHECK_IN_AGE_MS } from "../request/limits.js";
import type { GeoTable } from "./geo-table.js";
import type { AddressDirectory } from "./geoip.js";
import type { Reference } from "../reference/reference.js";

/** Facts about a request that the location checks need. */
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

/**
 * Makes the location checks. The region of an address is that of the operator's rules, else that of the GeoIP files. An
 * address without a region passes, such as a loopback or private one that no rule names.
 */
export function tradingLocations(
  reference: Pick<Reference, "geoRules" | "location">,
  files: AddressDirectory,
): Locations {
  return {
    async check({ traderId, ip, purpose, nowMs }) {
      const rules = await reference.geoRules();
      const refusal = checkAddress(rules, files, ip);
      if (refusal !== undefined) return refusal;
      return checkDevice(rules, await reference.location(traderId), purpose, nowMs);
    },
  };
}

function checkAddress(rules: GeoTable, files: AddressDirectory, ip: string): Code | undefined {
  const byRules = rules.find(ip);
  const byFiles = files.find(ip);
  if (byRules.anonymous || byFiles.anonymous) return "ANONYMIZED_NETWORK";
  const region = byRules.region ?? byFiles.region;
  return region !== undefined && rules.isRestricted(region) ? "RESTRICTED_NETWORK_REGION" : undefined;
}

function checkDevice(
  rules: GeoTable,
  location: DeviceLocation | undefined,
  purpose: "read" | "placing",
  nowMs: number,
): Code | undefined {
  if (location === undefined) return "GEOLOCATION_EXPIRED";
  if (location.failed) return "GEOLOCATION_FAILED";
  if (location.region === null) return "INVALID_GEOLOCATION_REGION";
  if (rules.isRestricted(location.region)) return "RESTRICTED_GEOLOCATION_REGION";
  const expired = purpose === "placing" && nowMs - location.ts > MAX_CHECK_IN_AGE_MS;
  return expired ? "GEOLOCATION_EXPIRED" : undefined;
}
