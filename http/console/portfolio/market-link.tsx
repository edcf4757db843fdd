/** Link to a market by its name. */

import { Link } from "../app/router.js";
import { marketName, type MarketNames } from "./catalog.js";

interface MarketLinkProps {
  /** Names that have been read so far. */
  readonly names: ReadonlyMap<string, MarketNames> | undefined;
  readonly marketId: string;
}

export function MarketLink({ names, marketId }: MarketLinkProps) {
  return (
    <span class="portfolio-market">
      <Link to={`/markets/${marketId}`}>{marketName(names, marketId) || "Market"}</Link>
    </span>
  );
}
