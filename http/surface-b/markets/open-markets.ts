/** Open markets of visible events, for surface B: read at most once per second, and again after every change. */

import { isUnavailable, type Database } from "../../../db/database.js";
import { allMarkets } from "../../../db/queries/catalog/markets.js";
import { Cache } from "../../reference/cache.js";
import type { Reference } from "../../reference/reference.js";
import { Answer, Piece } from "./answer.js";
import { describeMarkets } from "./description.js";
import { marketOnB, projected } from "../wire.js";

interface OpenMarketsFilter {
  readonly leagues?: readonly string[] | undefined;
  readonly marketTypes?: readonly string[] | undefined;
}

interface Shown {
  readonly league: string;
  readonly marketType: string;
  readonly piece: Piece;
}

interface Listing {
  readonly markets: readonly Shown[];
  /** Answers by filter. */
  readonly answers: Map<string, Answer>;
}

const TTL_MS = 1_000;
const MAX_ANSWERS = 64;
const LISTING = "open";

export class OpenMarkets {
  readonly #listing: Cache<Listing>;
  readonly #stopListening: () => void;

  constructor(
    private readonly db: Database,
    reference: Pick<Reference, "onChange">,
  ) {
    this.#listing = new Cache(() => this.#read(), {
      ttlMs: TTL_MS,
      maxEntries: 1,
      unreachable: isUnavailable,
    });
    this.#stopListening = reference.onChange(({ kind }) => {
      if (kind === "market" || kind === "event" || kind === "all") this.#listing.clear();
    });
  }

  /** Returns the open markets that match; an absent field matches every market. */
  async markets({ leagues, marketTypes }: OpenMarketsFilter): Promise<Answer> {
    const listing = await this.#listing.get(LISTING);
    if (listing === undefined) throw new Error("the list of open markets is missing");
    const filter = JSON.stringify([leagues?.toSorted(), marketTypes?.toSorted()]);
    const known = listing.answers.get(filter);
    if (known !== undefined) return known;
    const matching = listing.markets.filter(
      ({ league, marketType }) =>
        (leagues?.includes(league) ?? true) && (marketTypes?.includes(marketType) ?? true),
    );
    const answer = new Answer(matching.map(({ piece }) => piece));
    if (listing.answers.size < MAX_ANSWERS) listing.answers.set(filter, answer);
    return answer;
  }

  async #read(): Promise<Listing> {
    const records = await allMarkets(this.db, { statuses: ["OPEN"], visible: true });
    const markets = (await describeMarkets(this.db, records)).map((market) => ({
      league: market.event.league,
      marketType: market.record.marketType,
      piece: new Piece(marketOnB(market, projected(market.record, "CASH"))),
    }));
    return { markets, answers: new Map() };
  }

  close(): void {
    this.#stopListening();
  }
}
