/** Bugs by which a size grows with history, planted from outside. The short week must catch each of them. */

import { KnownIds } from "../../../actors/ledger/ids/known.js";
import { Removal } from "../../../stream/jobs/removal.js";
import { SourceReviews } from "../../../stream/runtime/removal/sources.js";
import { MemoryLog } from "../../support/log/memory-log.js";

interface PlantedBug {
  readonly name: string;
  /** Name of the measure that must grow. */
  readonly grows: string;
  /** Changes the code. Returns the function that restores it. */
  readonly plant: () => () => void;
}

/** Replaces members of a class. */
function replacing(prototype: object, members: PropertyDescriptorMap): () => () => void {
  return () => {
    const originals: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(prototype);
    Object.defineProperties(prototype, members);
    return () => {
      for (const name of Object.keys(members)) {
        const original = originals[name];
        if (original !== undefined) Object.defineProperty(prototype, name, original);
      }
    };
  };
}

function method(value: (...args: never[]) => unknown): PropertyDescriptor {
  return { configurable: true, writable: true, value };
}

const never: PropertyDescriptor = { configurable: true, get: () => undefined };

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "client ids are never forgotten",
    grows: "ledgers: client ids of ten minutes",
    plant: replacing(KnownIds.prototype, { deadline: never }),
  },
  {
    name: "settled markets are never removed",
    grows: "markets in the log",
    plant: replacing(Removal.prototype, { run: method(() => Promise.resolve()) }),
  },
  {
    name: "the sources of removed markets are never forgotten",
    grows: "ledgers: sources",
    plant: replacing(SourceReviews.prototype, { review: method(() => Promise.resolve()) }),
  },
  {
    name: "entries are never trimmed",
    grows: "ledger entries",
    plant: replacing(MemoryLog.prototype, { trim: method(() => Promise.resolve()) }),
  },
  {
    name: "parts that no snapshot names stay",
    grows: "ledger snapshots",
    plant: replacing(MemoryLog.prototype, { removeParts: method(() => Promise.resolve(0)) }),
  },
];
