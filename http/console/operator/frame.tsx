/** Frame of the operators' pages: the sections, and the title of the page. */

import type { ComponentChildren } from "preact";
import { Link } from "../app/router.js";
import { session } from "../data/session.js";
import "./operator.css";

const SECTIONS = [
  ["/operator", "Today"],
  ["/operator/events", "Events"],
  ["/operator/settlement", "Settlement"],
  ["/operator/desk", "Desk"],
  ["/operator/money", "Money"],
  ["/operator/people", "People"],
  ["/operator/safety", "Safety"],
] as const;

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
          <Link key={to} to={to}>
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
