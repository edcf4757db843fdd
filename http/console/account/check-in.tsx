/** Check-in of the place of this device (contract section 8.2). */

import { useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { call } from "../data/api.js";
import { Refusal } from "../data/refusal.js";
import { showDuration } from "../data/time.js";
import { Button } from "../parts/button.js";
import { TextField } from "../parts/field.js";
import { Notice } from "../parts/notice.js";
import { Time } from "../parts/values.js";
import { checkInEnd, type AccountAnswer } from "./facts.js";

type Location = AccountAnswer["location"];

interface CheckInProps {
  readonly location: Location;
  readonly onCheckedIn: () => void;
}

/** Shows the last check-in and when it ends, and records another one. */
export function CheckIn({ location, onCheckedIn }: CheckInProps) {
  const [region, setRegion] = useState(location?.region ?? "");
  const checkIn = useAction(async () => {
    const code = region.trim().toUpperCase();
    if (code === "")
      throw new Refusal(0, "REGION_MISSING", "Enter the region in which you are, such as US-NY.");
    await call("POST", "/v3/session/location", { body: { region: code } });
    onCheckedIn();
  });
  return (
    <section id="check-in">
      <h2>Location</h2>
      <p>
        The exchange takes orders only from people who are in a region where it may operate. You say where you
        are, and that holds for 3 days; then you check in again. The exchange also checks the network of each
        request.
      </p>
      <p>
        <LastCheckIn location={location} />
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          checkIn.run();
        }}
      >
        <TextField
          label="Region"
          value={region}
          onInput={setRegion}
          hint="ISO 3166 code of your state or country, such as US-NY, CA-ON or GB."
          error={checkIn.refusal?.code === "REGION_MISSING" ? checkIn.refusal.message : undefined}
        />
        {checkIn.refusal?.code !== "REGION_MISSING" && (
          <Notice refusal={checkIn.refusal} onDismiss={checkIn.dismiss} />
        )}
        <Button submits busy={checkIn.busy}>
          Check in
        </Button>
      </form>
    </section>
  );
}

function LastCheckIn({ location }: { readonly location: Location }) {
  if (location === null) return <>You have not checked in yet.</>;
  const end = checkInEnd(location);
  if (end === undefined)
    return (
      <>
        Your check-in of <Time ms={location.ts} /> no longer holds. Check in again to trade.
      </>
    );
  return (
    <>
      Checked in from <strong>{location.region}</strong>. It holds until <Time ms={end} />, for another{" "}
      {showDuration(end - Date.now())}.
    </>
  );
}
