/**
 * Process that sends wrong sign-ins from 50 addresses at a steady rate, however long their answers take, and reports the
 * number of each answer ten times a second. With the argument "yields" it leaves the cores to the exchange, as a sender on
 * another machine does.
 */

import fs from "node:fs";
import { Agent, request } from "node:http";
import os from "node:os";

const ADDRESSES = 50;
const [url = "", email = "", perSecond = "", priority = ""] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const agent = new Agent({ keepAlive: true, maxSockets: 500 });
const answers: Record<string, number> = {};

if (priority === "yields") {
  const { PRIORITY_LOW } = os.constants.priority;
  os.setPriority(PRIORITY_LOW);
  try {
    // Linux shares the cores between sessions first, and this process has one of its own.
    fs.writeFileSync("/proc/self/autogroup", String(PRIORITY_LOW));
  } catch {
    // The system has no autogroups.
  }
}

function count(answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

/** Returns the code of an answer. */
function codeOf(body: string): string {
  try {
    return (JSON.parse(body) as { readonly code?: string }).code ?? "";
  } catch {
    return "no JSON";
  }
}

function guess(n: number): void {
  const body = Buffer.from(JSON.stringify({ email, password: "guess guess" }));
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "X-Forwarded-For": `192.0.2.${1 + (n % ADDRESSES)}`,
  };
  const sent = request({ hostname, port, method: "POST", path: "/v3/session", headers, agent }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("end", () => {
      count(`${answer.statusCode ?? 0} ${codeOf(Buffer.concat(chunks).toString("utf8"))}`);
    });
  });
  sent.on("error", (error) => count(`no answer: ${error.message}`));
  sent.end(body);
}

const began = performance.now();
let sent = 0;
setInterval(() => {
  for (; sent < ((performance.now() - began) / 1_000) * Number(perSecond); sent += 1) guess(sent);
}, 5);
setInterval(() => process.send?.(answers), 100);
process.once("disconnect", () => process.exit());
