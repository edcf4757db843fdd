/**
 * Files in MaxMind's format, of whatever vendor: where an address is, and whether it hides who is behind it. Each file
 * is asked for both, because vendors cut their data differently.
 */

import { unwatchFile, watchFile } from "node:fs";
import { isIP } from "node:net";
import maxmind, { type Reader, type Response } from "maxmind";
import type { AddressFacts } from "./geo.js";

/** What a record may say; every part is absent in some files. */
interface AddressRecord {
  readonly country?: { readonly iso_code?: string };
  readonly subdivisions?: readonly { readonly iso_code?: string }[];
  readonly traits?: Flags;
}

/** A data centre is no disguise (specification, Location checks), so `is_anonymous`, which counts it in, is not looked at. */
interface Flags {
  readonly is_anonymous_vpn?: boolean;
  readonly is_public_proxy?: boolean;
  readonly is_residential_proxy?: boolean;
  readonly is_tor_exit_node?: boolean;
}

/** An IPv4 address as a socket of both families shows it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const NOTHING: AddressFacts = { anonymous: false, region: undefined };
const WATCH_MS = 5_000;

export interface AddressDirectory {
  find(ip: string): AddressFacts;
}

function hides(flags: Flags | undefined): boolean {
  return (
    flags?.is_anonymous_vpn === true ||
    flags?.is_public_proxy === true ||
    flags?.is_residential_proxy === true ||
    flags?.is_tor_exit_node === true
  );
}

function regionOf({ country, subdivisions }: AddressRecord): string | undefined {
  const code = country?.iso_code;
  const part = subdivisions?.[0]?.iso_code;
  return code === undefined || part === undefined ? code : `${code}-${part}`;
}

/** The first file that knows a region says it; any of them may know that an address hides its users. */
export function directoryOf(files: () => readonly Pick<Reader<Response>, "get">[]): AddressDirectory {
  return {
    find: (text) => {
      const ip = MAPPED.exec(text)?.[1] ?? text;
      if (isIP(ip) === 0) return NOTHING;
      const records = files().flatMap((file) => {
        const found = file.get(ip);
        return found === null ? [] : [found as AddressRecord & Flags];
      });
      const region = records.map(regionOf).find((known) => known !== undefined);
      return { anonymous: records.some((record) => hides(record) || hides(record.traits)), region };
    },
  };
}

/** The files of a gateway, which are read anew when they are replaced on disk. */
export class GeoIpFiles implements AddressDirectory {
  readonly #readers: Reader<Response>[] = [];
  readonly #directory = directoryOf(() => this.#readers);

  private constructor(private readonly paths: readonly string[]) {}

  /** Opens the files. Throws when one cannot be read; one that is broken later leaves the last good one in place. */
  static async open(paths: readonly string[], onError: (error: unknown) => void): Promise<GeoIpFiles> {
    const files = new GeoIpFiles(paths);
    for (const [index, path] of paths.entries()) {
      await files.#load(index, path);
      watchFile(path, { persistent: false, interval: WATCH_MS }, () => {
        files.#load(index, path).catch(onError);
      });
    }
    return files;
  }

  async #load(index: number, path: string): Promise<void> {
    this.#readers[index] = await maxmind.open(path);
  }

  find(ip: string): AddressFacts {
    return this.#directory.find(ip);
  }

  /** Stops looking at the disk. */
  close(): void {
    for (const path of this.paths) unwatchFile(path);
  }
}
