/** The thin bar that says when the connection is lost. It lies over the page, which therefore does not jump. */

import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { showDuration } from "../data/time.js";
import type { Connection } from "./live.js";
import "./connection-bar.css";

const SECOND_MS = 1_000;

export function ConnectionBar({ connection }: { readonly connection: ReadonlySignal<Connection> }) {
  const { state, sinceMs } = connection.value;
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    if (state !== "lost") return;
    setNowMs(Date.now());
    const timer = setInterval(() => setNowMs(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [state]);
  return (
    <div class="connection">
      {/* Screen readers announce the loss once; the age, which changes each second, is outside the announcement. */}
      <p class="hidden" role="status">
        {state === "lost" && "The service is out of reach. The page tries again."}
      </p>
      {state === "lost" && (
        <p class="connection-lost">
          Connection lost. What is shown is{" "}
          <span class="number">{showDuration(Math.max(0, nowMs - sinceMs))}</span> old. The page reconnects by
          itself.
        </p>
      )}
    </div>
  );
}
