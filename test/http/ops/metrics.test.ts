import fs from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { RoleProcess } from "../../support/role-process.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { untilWithin } from "../../support/until.js";

const README = path.resolve(import.meta.dirname, "..", "..", "..", "scripts", "README.md");

/** Figures of what can grow, which a process of the role reports. */
const REPORTED = {
  worker: [
    "rss_bytes",
    "heap_bytes",
    "event_loop_pause_seconds",
    "partitions",
    "partitions_taken_total",
    "delta_bytes",
    "delta_entries",
    "mailbox_bytes",
    "mailbox_messages",
    "kept_snapshot_bytes",
    "snapshots_total",
    "snapshot_written_bytes_total",
    "snapshot_bytes",
    "snapshot_seconds",
    "oldest_snapshot_seconds",
    "unsnapshotted_bytes",
    "resume_window_bytes",
  ],
  projector: ["rss_bytes", "projected_entries_total", "projector_lag_seconds", "reconciliations_total"],
  jobs: [
    "heads",
    "head_bytes",
    "first_answer_bytes",
    "token_bucket_bytes",
    "quarantine_bytes",
    "job_bytes",
    "other_key_bytes",
  ],
} as const;

describe("the metrics", function () {
  this.timeout(60_000);
  let stack: Stack;
  let roles: RoleProcess[];

  before(async () => {
    stack = await startStack({ actors: "elsewhere" });
    const env = { REDIS_URL: stack.redisUrl, DATABASE_URL: stack.databaseUrl };
    roles = (["worker", "projector", "jobs"] as const).map((role) => new RoleProcess(role, env));
    await Promise.all(roles.map(({ ready }) => ready));
  });

  after(async () => {
    for (const { child } of roles) child.kill("SIGKILL");
    await Promise.all(roles.map(({ exited }) => exited));
    await stack.stop();
  });

  const read = async (): Promise<string> => (await fetch(`${stack.url}/metrics`)).text();

  it("are all in the table of scripts/README.md, and no others", async () => {
    const shown = [...(await read()).matchAll(/^# HELP (overround_\S+)/gm)].map(([, name]) => name);
    const listed = [...fs.readFileSync(README, "utf8").matchAll(/^\| `(overround_\S+)`/gm)];
    expect(listed.map(([, name]) => name)).to.have.members(shown);
  });

  it("have a value of every process for what can grow, and the room that is left", async () => {
    await newTrader(stack);
    await newMarket(stack);
    await untilWithin(40_000, async () => {
      const text = await read();
      const valueOf = (figure: string): number => {
        const [, value] = new RegExp(`^overround_${figure} (\\S+)$`, "m").exec(text) ?? [];
        return Number(value ?? NaN);
      };
      for (const [role, figures] of Object.entries(REPORTED)) {
        for (const figure of figures) {
          const value = valueOf(`process_${figure}\\{role="${role}",name="[^"]+",process="[^"]+"\\}`);
          expect(value, `${figure} of the ${role}`).to.be.at.least(0);
        }
      }
      const ofWorker = (figure: string): number =>
        valueOf(`process_${figure}\\{role="worker",name="[^"]+",process="[^"]+"\\}`);
      expect(ofWorker("partitions")).to.equal(80);
      expect(ofWorker("partitions_taken_total")).to.equal(80);
      for (const figure of ["rss_bytes", "delta_bytes", "delta_entries", "resume_window_bytes"]) {
        expect(ofWorker(figure), figure).to.be.above(0);
      }
      expect(ofWorker("unsnapshotted_bytes")).to.be.above(0);
      expect(ofWorker("oldest_snapshot_seconds")).to.be.above(0);
      expect(valueOf("log_bytes")).to.be.above(1_000_000);
      expect(valueOf("log_headroom_ratio")).to.be.within(0.1, 0.7);
      expect(valueOf("log_commands_headroom_ratio")).to.be.within(0.3, 0.9);
    });
  });
});
