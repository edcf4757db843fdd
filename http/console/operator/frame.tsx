/** Frame of the operators' pages: the sections, and the title of the page. */

import type { ComponentChildren } from "preact";
import { address, Link } from "../app/router.js";
import { session } from "../data/session.js";
import "./operator.css";

const TODAY = "/operator";
const SECTIONS = [
  [TODAY, "Today"],
  ["/operator/events", "Events"],
  ["/operator/settlement", "Settlement"],
  ["/operator/desk", "Desk"],
  ["/operator/money", "Money"],
  ["/operator/reference", "Reference"],
  ["/operator/people", "People"],
  ["/operator/safety", "Safety"],
] as const;

/** Returns true for the section of the page that is shown. */
function isWithin(section: string): boolean {
  const { pathname } = address.value;
  return pathname === section || (section !== TODAY && pathname.startsWith(`${section}/`));
}

interface FrameProps {
  readonly title: ComponentChildren;
  /** Actions of the page, at the right of the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page of the operators. */
export function Frame({ title, actions, children }: FrameProps) {
  return (
    <div class="operator">
      <nav class="operator-sections" aria-label="Operator">
        {SECTIONS.map(([to, name]) => (
          <Link key={to} to={to} class={isWithin(to) ? "operator-current" : ""}>
            {name}
          </Link>
        ))}
        <span class="operator-role">{session.value?.operatorRole}</span>
      </nav>
      <div class="operator-title">
        <h1>{title}</h1>
        {actions !== undefined && <div class="operator-actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
