/** The pages of the operators, for the table of all pages. Each is loaded when its address is opened first. */

const only = { for: "operators" } as const;

export const OPERATOR_PAGES = [
  { ...only, path: "/operator", title: "Today", load: () => import("./today/today.js") },
  { ...only, path: "/operator/events", title: "Events", load: () => import("./events/events.js") },
  { ...only, path: "/operator/events/new", title: "New event", load: () => import("./events/new-event.js") },
  { ...only, path: "/operator/events/:eventId", title: "Event", load: () => import("./events/event.js") },
  {
    ...only,
    path: "/operator/settlement",
    title: "Settlement",
    load: () => import("./settlement/settlement.js"),
  },
  {
    ...only,
    path: "/operator/settlement/:marketId",
    title: "Settlement of a market",
    load: () => import("./settlement/market.js"),
  },
  { ...only, path: "/operator/desk", title: "Desk", load: () => import("./desk/desk.js") },
  { ...only, path: "/operator/desk/:traderId", title: "Trader", load: () => import("./desk/trader.js") },
  {
    ...only,
    path: "/operator/desk/:traderId/:orderId",
    title: "Order",
    load: () => import("./desk/order.js"),
  },
  { ...only, path: "/operator/people", title: "People", load: () => import("./people/people.js") },
  {
    ...only,
    path: "/operator/people/enroll",
    title: "Second factor",
    load: () => import("./people/enroll.js"),
  },
  {
    ...only,
    path: "/operator/reference",
    title: "Reference",
    load: () => import("./reference/reference.js"),
  },
  { ...only, path: "/operator/safety", title: "Safety", load: () => import("./safety/safety.js") },
  { ...only, path: "/operator/money", title: "Money", load: () => import("./money/money.js") },
  {
    ...only,
    path: "/operator/money/wallets",
    title: "Wallets",
    load: () => import("./money/wallets.js"),
  },
] as const;
