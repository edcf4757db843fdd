import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { readLine, readRecording, type Line } from "../../../scripts/replay/recording/recording.js";

async function collect(lines: AsyncIterable<Line>): Promise<Line[]> {
  const all: Line[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const GOOD = `{"op":"mcm","pt":5,"mc":[{"id":"1.1","rc":[{"id":7,"atb":[[1.5,20]]}]}]}`;

describe("replay: reading a recording", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "recording-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  async function read(name: string, content: string | Buffer): Promise<Line[]> {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return collect(readRecording(file));
  }

  it("yields messages with their line numbers and leaves out blank lines", async () => {
    const lines = await read("a.jsonl", `${GOOD}\n\n${GOOD}\r\n`);
    expect(lines.map(({ ok, number }) => [ok, number])).to.deep.equal([
      [true, 1],
      [true, 3],
    ]);
    const [first] = lines;
    expect(first?.ok === true && first.changes[0]?.rc?.[0]?.atb).to.deep.equal([[1.5, 20]]);
  });

  it("yields a broken line with its number and continues", async () => {
    const lines = await read("a.jsonl", `${GOOD}\n{"op":"mcm","pt":5,"mc":[{"id":"1.1"\n${GOOD}\n`);
    expect(lines[1]).to.deep.equal({ ok: false, number: 2, reason: "the line is not JSON" });
    expect(lines[2]?.ok).to.equal(true);
  });

  it("reads a compressed file", async () => {
    expect(await read("a.jsonl.gz", gzipSync(`${GOOD}\n`))).to.have.length(1);
  });

  it("rejects when the file does not exist", async () => {
    const file = path.join(folder, "missing.jsonl");
    let problem: unknown;
    await collect(readRecording(file)).catch((error: unknown) => (problem = error));
    expect(problem).to.have.property("code", "ENOENT");
  });

  const malformed: [string, string, string][] = [
    ["another operation", `{"op":"connection","pt":5}`, "op"],
    ["no time", `{"op":"mcm","mc":[]}`, "pt"],
    [
      "negative size",
      `{"op":"mcm","pt":5,"mc":[{"id":"1","rc":[{"id":7,"atb":[[1.5,-1]]}]}]}`,
      "mc.0.rc.0.atb",
    ],
    ["odds of zero", `{"op":"mcm","pt":5,"mc":[{"id":"1","rc":[{"id":7,"atl":[[0,1]]}]}]}`, "mc.0.rc.0.atl"],
    ["a number", "12", "the message"],
  ];
  for (const [fault, text, where] of malformed) {
    it(`names the place of ${fault}`, () => {
      const line = readLine(text, 9);
      expect(line?.ok).to.equal(false);
      expect(line?.ok === false && line.reason).to.contain(where);
    });
  }
});
