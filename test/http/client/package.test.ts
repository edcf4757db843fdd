import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import * as client from "../../../http/client/client.js";
import { startStack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { inTemporaryDirectory } from "../../support/temporary.js";

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
const COMPILER = path.join(ROOT, "node_modules", "@typescript", "native", "bin", "tsc");

const PROGRAM = `
import { RestClient, Signer, StreamClient, type Connection, type PlaceOrder } from "overround/client";
export function trade(connection: Connection, keyId: string, pem: string, order: PlaceOrder): Promise<{ orderId: string }> {
  const signer = new Signer({ keyId, algorithm: "Ed25519", privateKey: pem });
  const stream = new StreamClient(connection, signer, {
    book: (marketId) => void stream.book(marketId)?.best("outcome")?.price.length,
  });
  return new RestClient(connection, signer).placeOrder(order);
}
`;
const WRONG_PROGRAM = PROGRAM.replace("placeOrder(order)", "placeOrder(order.price)");

/** Returns the program in the README of the client. */
function exampleOfReadme(): string {
  const readme = fs.readFileSync(path.join(ROOT, "http", "client", "README.md"), "utf8");
  const [, example] = /```js\n(.*?)```/s.exec(readme) ?? [];
  if (example === undefined) throw new Error("the README of the client has no example");
  return example;
}

describe("client: the package", function () {
  this.timeout(60_000);

  /** Runs `use` in a directory where the package is installed. `npm test` has compiled the package. */
  async function asInstalled<T>(use: (directory: string) => Promise<T>): Promise<T> {
    return inTemporaryDirectory(async (directory) => {
      fs.mkdirSync(path.join(directory, "node_modules"));
      fs.symlinkSync(ROOT, path.join(directory, "node_modules", "overround"));
      fs.writeFileSync(path.join(directory, "package.json"), JSON.stringify({ type: "module" }));
      return use(directory);
    });
  }

  it("exports the clients to other programs, and nothing else", async () => {
    await asInstalled(async (cwd) => {
      const script = `console.log(JSON.stringify(Object.keys(await import("overround/client"))))`;
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd });
      expect(JSON.parse(stdout)).to.have.members(Object.keys(client));
      expect(Object.keys(client)).to.include.members([
        "RestClient",
        "StreamClient",
        "Signer",
        "OperatorClient",
      ]);
      const inside = `await import("overround/http/app.js")`;
      const refused = await run(process.execPath, ["--input-type=module", "-e", inside], { cwd }).then(
        () => "imported",
        (error: unknown) => String(error),
      );
      expect(refused).to.contain("ERR_PACKAGE_PATH_NOT_EXPORTED");
    });
  });

  it("runs the example of its README", async () => {
    const stack = await startStack();
    try {
      await newMarket(stack);
      const { trading } = await newTrader(stack);
      await asInstalled(async (cwd) => {
        const keys = path.join(cwd, "first-trade");
        fs.mkdirSync(keys);
        fs.writeFileSync(path.join(keys, "trade.id"), trading.key.keyId);
        fs.writeFileSync(path.join(keys, "trade.pem"), trading.key.privateKey);
        fs.writeFileSync(path.join(cwd, "example.js"), exampleOfReadme());
        const env = { ...process.env, PORT: new URL(stack.url).port, DATA_DIR: cwd };
        const { stdout } = await run(process.execPath, ["example.js"], { cwd, env, timeout: 20_000 });
        const orderId = /^open (.+)$/m.exec(stdout)?.[1] ?? "";
        expect(stdout).to.include("best bid { price: '0.010', qty: 10 }");
        expect(stdout).to.include(`canceled: [ '${orderId}' ]`).and.include(`cancel ${orderId}`);
      });
    } finally {
      await stack.stop();
    }
  });

  it("exports types", async () => {
    await asInstalled(async (cwd) => {
      const options = [
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2023",
        "--skipLibCheck",
      ];
      const check = async (program: string): Promise<string> => {
        fs.writeFileSync(path.join(cwd, "program.ts"), program);
        return run(process.execPath, [COMPILER, ...options, "program.ts"], { cwd }).then(
          () => "compiles",
          (error: unknown) => (error as { stdout: string }).stdout,
        );
      };
      expect(await check(PROGRAM)).to.equal("compiles");
      expect(await check(WRONG_PROGRAM)).to.match(/program\.ts.*error TS2345/);
    });
  });
});
