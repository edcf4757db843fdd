/**
 * Files in MaxMind's format, of any vendor: the region of an address, and whether it hides its users. Each file is
 * searched for both, because vendors divide their data differently.
 */

import { unwatchFile, watchFile } from "node:fs";
import maxmind, { type Reader, type Response } from "maxmind";
import { plainAddress } from "./addresses.js";
import { NO_FACTS, type AddressFacts } from "./geo-table.js";

/** Record of an address; each part is absent in some files. */
interface AddressRecord {
  readonly country?: { readonly iso_code?: string };
  readonly subdivisions?: readonly { readonly iso_code?: string }[];
  readonly traits?: Flags;
}

/** Flags that hide users. `is_anonymous` is not read, because it includes data centres (specification, Location checks). */
interface Flags {
  readonly is_anonymous_vpn?: boolean;
  readonly is_public_proxy?: boolean;
  readonly is_residential_proxy?: boolean;
  readonly is_tor_exit_node?: boolean;
}

const WATCH_MS = 5_000;

/** Directory of facts by address. */
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

/** Returns a directory of files: the region is that of the first file that has one, and each file may mark an address anonymous. */
function directoryOf(files: () => readonly Pick<Reader<Response>, "get">[]): AddressDirectory {
  return {
    find: (text) => {
      const ip = plainAddress(text);
      if (ip === undefined) return NO_FACTS;
      const records = files().flatMap((file) => {
        const found = file.get(ip);
        return found === null ? [] : [found as AddressRecord & Flags];
      });
      const region = records.map(regionOf).find((known) => known !== undefined);
      return { anonymous: records.some((record) => hides(record) || hides(record.traits)), region };
    },
  };
}

/** Files of a gateway, read again when they are replaced on disk. */
export class GeoIpFiles implements AddressDirectory {
  readonly #readers: Reader<Response>[] = [];
  readonly #directory = directoryOf(() => this.#readers);

  private constructor(private readonly paths: readonly string[]) {}

  /** Opens the files. Throws when one cannot be read; a file that breaks later leaves its last good version in place. */
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

  /** Stops watching the files. */
  close(): void {
    for (const path of this.paths) unwatchFile(path);
  }
}
