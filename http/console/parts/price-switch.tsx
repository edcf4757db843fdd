/** The switch between the forms of prices. */

import { useId } from "preact/hooks";
import { PRICE_FORMS, priceForm, showTicks, type PriceForm } from "../data/prices.js";

const FORM_NAMES: Readonly<Record<PriceForm, string>> = {
  dollars: "Dollars per dollar paid out",
  percent: "Per cent",
  decimal: "Decimal odds",
  american: "American odds",
};
/** Price in the examples of the switch: 62 per cent. */
const EXAMPLE_TICKS = 620;

/** Switch of the form in which prices are shown. */
export function PriceSwitch() {
  const name = useId();
  return (
    <div class="switch" role="radiogroup" aria-label="Show prices as">
      {PRICE_FORMS.map((form) => (
        <label key={form} title={FORM_NAMES[form]}>
          <input
            type="radio"
            name={name}
            aria-label={FORM_NAMES[form]}
            checked={priceForm.value === form}
            onChange={() => {
              priceForm.value = form;
            }}
          />
          <span>{showTicks(EXAMPLE_TICKS, form)}</span>
        </label>
      ))}
    </div>
  );
}
