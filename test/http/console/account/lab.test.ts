import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import type { Page } from "playwright-core";
import { generateKey, type KeyAlgorithm } from "../../../../http/client/keys.js";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { newTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";
import { callsOf } from "../../calls.js";

interface Vector {
  readonly name: string;
  readonly timestamp: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly bodyBase64: string;
  readonly canonicalText: string;
  readonly ed25519: string;
  readonly p256: string;
}

const file = JSON.parse(readFileSync("test/http/auth/vectors/signing.json", "utf8")) as {
  readonly keys: Readonly<Record<KeyAlgorithm, { readonly publicKey: string }>>;
  readonly vectors: readonly Vector[];
};

/** Vectors whose body can be typed. */
const TYPED = file.vectors.filter(({ bodyBase64 }) => {
  const text = Buffer.from(bodyBase64, "base64").toString();
  return Buffer.from(text).toString("base64") === bodyBase64;
});

const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

async function describeRequest(
  page: Page,
  vector: Omit<Vector, "name" | "canonicalText" | "ed25519" | "p256">,
) {
  await page.getByLabel("Method").selectOption(vector.method.toUpperCase());
  await page.getByLabel("Path").fill(vector.path);
  await page.getByLabel("Query").fill(vector.query);
  await page.getByLabel("Body").fill(Buffer.from(vector.bodyBase64, "base64").toString());
  await page.getByLabel("Timestamp").fill(vector.timestamp);
}

async function expectVerdict(page: Page, signature: string, words: string | RegExp): Promise<void> {
  await page.getByLabel("Signature", { exact: true }).fill(signature);
  await page.getByText(words).waitFor({ timeout: 5_000 });
}

describe("signature lab", function () {
  this.timeout(60_000);
  const served = serveConsole();

  it("shows the canonical text of every vector that can be typed, and accepts its two signatures", async () => {
    expect(TYPED).to.have.length(25);
    const opened = await served.visit("/lab");
    const { page } = opened;
    const { brand } = served.stack;
    const check = async (vector: Vector, signature: string): Promise<void> => {
      await page.getByLabel("Signature", { exact: true }).fill("");
      await describeRequest(page, vector);
      const expected = vector.canonicalText.replace(/^SVC/, brand.toUpperCase());
      const shown = page.getByTestId("canonical-text");
      await until(
        () => shown.textContent(),
        (text) => text === expected,
      );
      if (brand === "Svc") await expectVerdict(page, signature, "This signature is good");
    };
    await page.getByLabel("Public key").fill(file.keys.Ed25519.publicKey);
    for (const vector of TYPED) await check(vector, vector.ed25519);
    await page.getByLabel("Algorithm").selectOption("P-256");
    await page.getByLabel("Public key").fill(file.keys["P-256"].publicKey);
    for (const vector of TYPED.slice(0, 4)) await check(vector, vector.p256);
    await expectSound(opened);
  });

  it("says what is wrong with a signature", async () => {
    const opened = await served.visit("/lab");
    const { page } = opened;
    const [vector] = TYPED;
    if (vector === undefined) throw new Error("the file has no vectors");
    await describeRequest(page, vector);
    await page.getByLabel("Public key").fill("ssh-ed25519 AAAA");
    await expectVerdict(page, vector.ed25519, "The public key is not one PEM block");
    await page.getByLabel("Public key").fill(file.keys.Ed25519.publicKey);
    await expectVerdict(page, vector.ed25519.replace("=", ""), "not standard base64 with padding");
    await expectVerdict(page, vector.p256, /one of Ed25519 has 64/);
    await expectVerdict(page, Buffer.alloc(64, 1).toString("base64"), "not of this text by this key");
    await page.getByLabel("Algorithm").selectOption("P-256");
    await page.getByText("The public key is not a key of P-256").waitFor();
    await page.getByLabel("Public key").fill(file.keys["P-256"].publicKey);
    await expectVerdict(page, Buffer.alloc(64, 1).toString("base64"), "Encode it in DER");
    await page.getByLabel("Path").fill("/v3/limits?x=1");
    await page.getByText("Move what follows the ? into the query").waitFor();
    await expectSound(opened);
  });

  it("prints programs in three languages that the service understands, with both algorithms", async function () {
    const { stack } = served;
    const run = promisify(execFile);
    const { management, trading } = await newTrader(stack);
    const transactions = `/v3/account/subaccounts/${trading.key.keyId}/transactions`;
    const { page } = await served.visit("/lab");
    const hasPython = await run("python3", ["-c", "import cryptography, requests"]).then(
      () => true,
      () => false,
    );
    for (const algorithm of ["Ed25519", "P-256"] as const) {
      const { publicKey, privateKey } = await generateKey(algorithm);
      const made = await callsOf(stack.url, management)("POST /v3/keys", {
        name: algorithm,
        publicKey,
        algorithm,
      });
      const folder = mkdtempSync(path.join(os.tmpdir(), "lab-"));
      try {
        writeFileSync(path.join(folder, "key.pem"), privateKey);
        await page.getByLabel("Algorithm").selectOption(algorithm);
        await page.getByLabel("Key id").fill(String(made.json["keyId"]));
        const body = `{"quote":"it's \\"50 %\\" & more: é 😀"}`;
        for (const [language, name, program, args] of [
          ["curl", "program.sh", "sh", []],
          ["TypeScript", "program.mts", process.execPath, ["--import", TSX]],
          ["Python", "program.py", "python3", []],
        ] as const) {
          await page.getByRole("tab", { name: language }).click();
          for (const [method, target, query, sent, answer] of [
            ["POST", "/v3/echo", "", body, body],
            ["GET", transactions, "limit=10&kind=TRANSFER_IN", "", '"kind":"TRANSFER_IN"'],
          ] as const) {
            await describeRequest(page, {
              method,
              path: target,
              query,
              bodyBase64: Buffer.from(sent).toString("base64"),
              timestamp: "1",
            });
            const text = (await page.getByTestId("program").textContent()) ?? "";
            writeFileSync(path.join(folder, name), text);
            if (program === "python3" && !hasPython) continue;
            const output = await run(program, [...args, name], { cwd: folder, timeout: 20_000 });
            expect(output.stdout, `${language}, ${algorithm}, ${method} ${target}`).to.contain(answer);
          }
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    }
    if (!hasPython) this.skip();
  });
});
