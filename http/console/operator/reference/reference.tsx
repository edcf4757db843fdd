/** Reference data, market makers, regions, maintenance and announcements. */

import { Tabs } from "../../parts/tabs.js";
import { Frame } from "../frame.js";
import { Announcements } from "./announcements.js";
import { Leagues } from "./leagues.js";
import { Maintenance } from "./maintenance.js";
import { Makers } from "./makers.js";
import { Players } from "./players.js";
import { Regions } from "./regions.js";
import { Strikes } from "./strikes.js";
import { Ticks } from "./ticks.js";

const TABS = [
  ["announcements", "Announcements"],
  ["maintenance", "Maintenance"],
  ["leagues", "Leagues and types"],
  ["players", "Players"],
  ["ticks", "Ticks"],
  ["makers", "Market makers"],
  ["strikes", "Strike requests"],
  ["regions", "Regions and networks"],
] as const;

export default function ReferencePage() {
  return (
    <Frame title="Reference">
      <Tabs name="show" label="Reference" tabs={TABS}>
        {(tab) => {
          switch (tab) {
            case "announcements":
              return <Announcements />;
            case "maintenance":
              return <Maintenance />;
            case "leagues":
              return <Leagues />;
            case "players":
              return <Players />;
            case "ticks":
              return <Ticks />;
            case "makers":
              return <Makers />;
            case "strikes":
              return <Strikes />;
            case "regions":
              return <Regions />;
            default:
              return tab satisfies never;
          }
        }}
      </Tabs>
    </Frame>
  );
}
