/** Welcome to the demo. It is part of the first load, so that the markets below it do not move when its button arrives. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { remembered } from "../data/remembered.js";
import { session } from "../data/session.js";
import { settings } from "../data/settings.js";
import { Button } from "../parts/button.js";
import "./demo.css";

const strip = remembered("welcome", ["shown", "hidden"], "shown");

/** Strip at the top of the markets where the demo runs; elsewhere nothing. */
export function Welcome() {
  if (!settings.demo || strip.value === "hidden" || session.value?.role === "operator") return null;
  return (
    <section class="welcome" aria-label="Welcome">
      <p class="welcome-lead">
        This is a demo: bots make the prices, and the money is play money. A price is what you pay for each
        dollar that an outcome pays when it wins.
      </p>
      <Step />
      <Button kind="quiet" onClick={() => (strip.value = "hidden")}>
        Hide
      </Button>
    </section>
  );
}

/** The next step, once its code is there. */
function Step() {
  const [loaded, setLoaded] = useState<{ readonly NextStep: ComponentType }>();
  const [isLost, setLost] = useState(false);
  useEffect(() => void import("./next-step.js").then(setLoaded, () => setLost(true)), []);
  return (
    <div class="welcome-step">
      {loaded !== undefined && <loaded.NextStep />}
      {isLost && (
        <>
          <p>The next step could not be loaded.</p>
          {/* Browsers may keep the failure of an import until the page is loaded again. */}
          <Button onClick={() => window.location.reload()}>Try again</Button>
        </>
      )}
    </div>
  );
}
