/** Money of the subaccount Web that new orders may use. */

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { z } from "zod";
import type { Balance } from "../../surface-a/schemas/account.js";
import { Link } from "../app/router.js";
import { useResource } from "../data/resource.js";
import { Money } from "../parts/values.js";
import { signedCall, webKey } from "../trading/web-key.js";

/** Pause after a change of orders or positions before the balance is read, so that a burst costs one read. */
const SETTLE_MS = 400;

interface AvailableProps {
  readonly orders: ReadonlySignal<unknown>;
  readonly positions: ReadonlySignal<unknown>;
}

export function Available({ orders, positions }: AvailableProps) {
  const keyId = webKey.value?.keyId ?? "";
  const path = `/v3/account/subaccounts/${keyId}/balance`;
  const balance = useResource(
    (signal) => signedCall<z.infer<typeof Balance>>("GET", path, { signal }),
    [keyId],
    { everyMs: 30_000 },
  );
  const reload = useRef(balance.reload);
  reload.current = balance.reload;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readSoon = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => reload.current(), SETTLE_MS);
    };
    const stops = [orders.subscribe(readSoon), positions.subscribe(readSoon)];
    return () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
    };
  }, [orders, positions]);
  if (balance.value === undefined) return null;
  return (
    <p class="ticket-available">
      <Money value={balance.value.available} /> available · <Link to="/portfolio">Add money</Link>
    </p>
  );
}
