import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parseCommandLine, UsageError } from "../../scripts/command-line.mjs";
import { describeVariables } from "../../scripts/config.js";
import { type Program, programOf } from "../support/run/program.js";
import { inTemporaryDirectory } from "../support/temporary.js";

const ROOT = path.join(import.meta.dirname, "..", "..");
const SETUP = { entry: path.join(ROOT, "scripts", "setup.mjs"), execArgv: [] };
const SIMULATOR = "test/simulation/main.ts";
const ENTRIES = [
  "scripts/start.ts",
  "scripts/gateway.ts",
  "scripts/worker.ts",
  "scripts/projector.ts",
  "scripts/jobs.ts",
  "scripts/migrate.ts",
  "scripts/embedded/repair-aof.ts",
  "scripts/replay.ts",
  "scripts/bench.ts",
  "scripts/demo.ts",
  "scripts/fetch-redis.ts",
  // `scripts/simulate.ts` passes its arguments to this file.
  SIMULATOR,
];

const COMMAND = {
  name: "example",
  call: "npm run example --",
  summary: "Does nothing.",
  operands: { usage: "FILE", min: 1, max: 1 },
  options: {
    times: { value: "N", default: "1", short: "t", description: "Repeats." },
    url: { value: "URL", description: "Address." },
    quiet: { description: "Prints nothing." },
  },
} as const;

function problemOf(args: readonly string[]): string {
  try {
    parseCommandLine(COMMAND, args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return "none";
}

/** Runs a script in an empty directory, which is its data directory too, and checks that it writes nothing there. */
function run(directory: string, { entry, execArgv }: Program, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...execArgv, entry, ...args], {
    cwd: directory,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], DATA_DIR: directory },
  });
  expect(fs.readdirSync(directory)).to.deep.equal([]);
  return { status, stdout, stderr };
}

describe("the command line of a script", () => {
  it("parses options and operands as they are declared", () => {
    expect(parseCommandLine(COMMAND, ["a.json", "-t", "3", "--quiet"])).to.deep.equal({
      values: { times: "3", quiet: true },
      operands: ["a.json"],
    });
    expect(parseCommandLine(COMMAND, ["--url=x", "--", "-a"])).to.deep.equal({
      values: { times: "1", url: "x", quiet: false },
      operands: ["-a"],
    });
  });

  it("describes every option in the help", () => {
    const { help = "" } = parseCommandLine(COMMAND, ["--help"]);
    expect(help.split("\n")).to.deep.equal([
      "Usage: npm run example -- FILE [options]",
      "",
      "Does nothing.",
      "",
      "Options:",
      "  -t, --times N  Repeats. Default: 1.",
      "  --url URL      Address.",
      "  --quiet        Prints nothing.",
      "  -h, --help     Prints this help and does nothing else.",
    ]);
  });

  for (const [args, problem] of [
    [["a", "--nonsense"], "unknown option '--nonsense'"],
    [["a", "-x"], "unknown option '-x'"],
    [["a", "b"], "unexpected argument 'b'"],
    [[], "FILE is missing"],
    [["a", "--url"], "option '--url <value>' argument missing"],
    [["a", "--quiet=1"], "option '--quiet' does not take an argument"],
  ] as const) {
    it(`rejects "${args.join(" ")}" in one line with the remedy`, () => {
      expect(problemOf(args)).to.equal(`${problem}; "npm run example -- --help" lists the options`);
    });
  }
});

describe("every script", function () {
  this.timeout(60_000);

  for (const entry of ENTRIES) {
    it(`${entry} prints its help and does nothing else`, () =>
      inTemporaryDirectory((directory) => {
        const helped = run(directory, programOf(entry), ["--help"]);
        expect(helped).to.include({ status: 0, stderr: "" });
        expect(helped.stdout).to.match(/^Usage: (npm|node) .*\n\n/);
      }));
  }

  for (const entry of ["scripts/start.ts", "scripts/worker.ts", SIMULATOR]) {
    it(`${entry} rejects an unknown option in one line and ends with 2`, () =>
      inTemporaryDirectory((directory) => {
        const refused = run(directory, programOf(entry), ["--nonsense"]);
        expect(refused).to.include({ status: 2, stdout: "" });
        expect(refused.stderr).to.match(
          /^[a-z-]+: unknown option '--nonsense'; "[^"]+ --help" lists the options\n$/,
        );
      }));
  }

  for (const command of [[], ["test"], ["check"], ["build"]]) {
    const shown = ["setup.mjs", ...command].join(" ");
    it(`${shown} prints its help, and rejects an unknown option, before it installs or compiles`, () =>
      inTemporaryDirectory((directory) => {
        expect(run(directory, SETUP, [...command, "--help"])).to.include({ status: 0, stderr: "" });
        const refused = run(directory, SETUP, [...command, "--nonsense"]);
        expect(refused).to.include({ status: 2, stdout: "" });
        expect(refused.stderr).to.match(/^[a-z]+: unknown option '--nonsense'; /);
      }));
  }

  it("names an unknown command", () =>
    inTemporaryDirectory((directory) => {
      const refused = run(directory, SETUP, ["strat"]);
      expect(refused).to.include({ status: 2, stdout: "" });
      expect(refused.stderr).to.match(/^setup: unexpected argument 'strat'; /);
    }));
});

describe("the help on environment variables", () => {
  it("has a sentence for every variable, and its default", () => {
    const help = describeVariables();
    const entries = help.split(/\n {2}(?=[A-Z])/).slice(1);
    expect(entries).to.have.length.above(30);
    for (const entry of entries) {
      expect(entry.replaceAll(/\s+/g, " ")).to.match(/^[A-Z_]+ [A-Za-z].*\.$/);
    }
    expect(help).to.match(/PORT +TCP port of the gateway\. Default: 8080\./);
    expect(help).to.match(/SETTLEMENT_APPROVALS .*Default: 1\./);
  });
});
