import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { openLog } from "../../../scripts/supervisor/log.js";

describe("the log file of a set", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
    file = path.join(folder, "overround.log");
  });

  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  const read = (name: string): string[] => fs.readFileSync(name, "utf8").trimEnd().split("\n");

  it("is renamed when it is long, and a new one begins", () => {
    const log = openLog(file, 20);
    const write = log.from("test");
    const lines = [0, 1, 2, 3].map((line) => `{"line":${line},"of":"four"}`);
    for (const line of lines) write(line);
    log.close();
    expect(read(`${file}.1`)).to.deep.equal(lines.slice(2, 3));
    expect(read(file)).to.deep.equal(lines.slice(3));
  });

  it("begins anew after somebody has removed it", () => {
    const log = openLog(file, 20);
    const write = log.from("test");
    write(`{"line":0,"of":"many"}`);
    fs.rmSync(file);
    write(`{"line":1}`);
    log.close();
    expect(read(file)).to.deep.equal([`{"line":1}`]);
  });

  it("goes on in the old file while it cannot be renamed or opened again", () => {
    const log = openLog(file, 20);
    const write = log.from("test");
    write(`{"line":0,"of":"many"}`);
    const moved = path.join(folder, "moved.log");
    fs.renameSync(file, moved);
    fs.mkdirSync(file);
    fs.mkdirSync(`${file}.1`);
    fs.writeFileSync(path.join(`${file}.1`, "full"), "");
    write(`{"line":1}`);
    log.close();
    expect(read(moved)).to.deep.equal([`{"line":0,"of":"many"}`, `{"line":1}`]);
  });
});
