/** Safety: the audit log, the clocks, the quarantine, and the last hour of the figures that matter. */

import { Tabs } from "../../parts/tabs.js";
import { Frame } from "../frame.js";
import { AuditLog } from "./audit-log.js";
import { Clocks } from "./clocks.js";
import { Plots } from "./plots.js";
import { Quarantine } from "./quarantine.js";

const TABS = [
  ["audit", "Audit log"],
  ["clocks", "Clocks"],
  ["quarantine", "Quarantine"],
  ["figures", "Figures"],
] as const;

export default function SafetyPage() {
  return (
    <Frame title="Safety">
      <Tabs name="show" label="Safety" tabs={TABS}>
        {(tab) => {
          switch (tab) {
            case "audit":
              return <AuditLog />;
            case "clocks":
              return <Clocks />;
            case "quarantine":
              return <Quarantine />;
            case "figures":
              return <Plots />;
            default:
              return tab satisfies never;
          }
        }}
      </Tabs>
    </Frame>
  );
}
