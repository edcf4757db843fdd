/** Tick table: the prices at which orders may rest. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Ticks as TicksAnswer } from "../../../admin/schemas/reference.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { TextArea } from "../../parts/field.js";
import { Loaded } from "../../parts/loaded.js";
import { whyNot } from "../permission.js";
import { Form } from "./form.js";

type Answer = z.infer<typeof TicksAnswer>;

export function Ticks() {
  const ticks = useResource((signal) => call<Answer>("GET", "/admin/v1/ticks", { signal }), []);
  return (
    <Loaded of={ticks} what="the tick table">
      {({ prices }) => <Edit prices={prices} onDone={ticks.reload} />}
    </Loaded>
  );
}

function Edit({ prices, onDone }: { readonly prices: readonly string[]; readonly onDone: () => void }) {
  const [text, setText] = useState(prices.join(" "));
  const wanted = text.split(/[\s,]+/).filter((price) => price !== "");
  const added = wanted.filter((price) => !prices.includes(price));
  const removed = prices.filter((price) => !wanted.includes(price));
  const unchanged = added.length + removed.length === 0 ? "The table has these prices already." : undefined;
  return (
    <Form
      title="Tick table"
      submit="Replace the table"
      reason={whyNot("markets") ?? unchanged}
      send={async () => {
        const { prices: now } = await call<Answer>("PUT", "/admin/v1/ticks", { body: { prices: wanted } });
        onDone();
        return `The table has ${now.length} prices.`;
      }}
    >
      <p>
        Orders may rest at {prices.length} prices. An order that rests at a price that you remove keeps
        resting. Announce the change before you make it.
      </p>
      <TextArea
        label="Prices"
        rows={8}
        value={text}
        onInput={setText}
        hint="Rising, each with its complement to 1, between spaces or commas."
      />
      {unchanged === undefined && (
        <p>
          Adds {added.length} and removes {removed.length} prices.
        </p>
      )}
    </Form>
  );
}
