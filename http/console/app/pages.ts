/** The table of pages: each is loaded when its address is opened first. */

import type { ComponentType } from "preact";
import { OPERATOR_PAGES } from "../operator/pages.js";
import type { Path } from "./paths.js";

/** Properties of every page: the parameters of its address. */
export type PageProps = Readonly<Record<string, string>>;

export interface Page {
  /** The gateway serves whatever lies below `/operator`, three segments deep. */
  readonly path: Path | `/operator/${string}`;
  readonly title: string;
  /** Visitors who may open the page; others are asked to log in first. */
  readonly for: "everybody" | "traders" | "operators" | "accounts";
  readonly load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const PAGES: readonly Page[] = [
  { path: "/", title: "Markets", for: "everybody", load: () => import("../markets/markets.js") },
  {
    path: "/markets/:marketId",
    title: "Market",
    for: "everybody",
    load: () => import("../market/market.js"),
  },
  { path: "/register", title: "Register", for: "everybody", load: () => import("../account/register.js") },
  { path: "/login", title: "Log in", for: "everybody", load: () => import("../account/login.js") },
  { path: "/account", title: "Account", for: "accounts", load: () => import("../account/account.js") },
  { path: "/keys", title: "Keys", for: "traders", load: () => import("../keys/keys.js") },
  { path: "/lab", title: "Signature lab", for: "everybody", load: () => import("../lab/lab.js") },
  { path: "/status", title: "Status", for: "everybody", load: () => import("../status/status.js") },
  {
    path: "/portfolio",
    title: "Portfolio",
    for: "traders",
    load: () => import("../portfolio/portfolio.js"),
  },
  ...OPERATOR_PAGES,
];
