/** Link to a market by its name, with the other columns of its row where the page is narrow. */

import type { ComponentChildren } from "preact";
import { Link } from "../app/router.js";
import { marketName, type MarketNames } from "./catalog.js";

interface MarketLinkProps {
  /** Names that have been read so far. */
  readonly names: ReadonlyMap<string, MarketNames> | undefined;
  readonly marketId: string;
  /** Outcome and time of the row, which have columns of their own on a wide page. */
  readonly children?: ComponentChildren;
}

export function MarketLink({ names, marketId, children }: MarketLinkProps) {
  return (
    <span class="portfolio-market">
      <Link to={`/markets/${marketId}`}>{marketName(names, marketId) || "Market"}</Link>
      <span class="portfolio-narrow">{children}</span>
    </span>
  );
}
