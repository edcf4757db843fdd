/** Closes a market that is to be graded; says first how many orders it cancels. */

import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Loaded } from "../../parts/loaded.js";
import type { MarketAnswer, MarketExposure } from "../answers.js";
import { Consequence } from "../consequence.js";
import { canceledOrders } from "../events/actions.js";

interface CloseMarketProps {
  readonly market: MarketAnswer;
  readonly onClose: () => void;
  readonly reload: () => void;
}

export function CloseMarket({
  market: { marketId, eventId, description },
  onClose,
  reload,
}: CloseMarketProps) {
  const exposure = useResource(
    (signal) => call<{ items: MarketExposure[] }>("GET", `/admin/v1/events/${eventId}/exposure`, { signal }),
    [eventId],
  );
  return (
    <Consequence
      title={`Close: ${description}`}
      open
      onClose={onClose}
      confirm="Close the market"
      reason="optional"
      disabled={exposure.value === undefined ? "The open orders are not counted yet." : undefined}
      act={async (reason) => {
        const body = { action: "close", reason: reason ?? "to be graded" };
        await call("POST", `/admin/v1/markets/${marketId}/status`, { body });
        reload();
      }}
    >
      <Loaded of={exposure} what="the exposure">
        {({ items }) => <p>{canceledOrders(items.filter((one) => one.marketId === marketId))}</p>}
      </Loaded>
      <p>It takes no orders until an operator opens it again.</p>
    </Consequence>
  );
}
