import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import * as browserClient from "../../../http/client/browser.js";
import * as client from "../../../http/client/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { addMarket, newEvent, newTrader } from "../../support/traders.js";

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
/** `npm test` has built the package. */
const PACKAGE = path.join(ROOT, ".build", "client");
const COMPILER = path.join(ROOT, "node_modules", "@typescript", "native", "bin", "tsc");
const STRICT = ["--strict", "--module", "nodenext", "--target", "es2023", "--lib", "es2023,dom"];

/** Returns the first block of a language after a sentence in the README of the client. */
function exampleOfReadme(after: string, language: string): string {
  const readme = fs.readFileSync(path.join(PACKAGE, "README.md"), "utf8");
  const [, block = ""] = readme.slice(readme.indexOf(after)).split(`\`\`\`${language}\n`, 2);
  const [example = ""] = block.split("```\n", 1);
  if (example === "") throw new Error(`the README of the client has no example after ${after}`);
  return example;
}

/** Installs the packed client with its dependencies into an empty folder, without the network. */
async function install(cwd: string): Promise<void> {
  const quiet = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
  const { stdout } = await run("npm", ["pack", "--loglevel=error", "--pack-destination", cwd], {
    cwd: PACKAGE,
  });
  const tarball = path.join(cwd, stdout.trim());
  fs.writeFileSync(path.join(cwd, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const dependencies = ["ws", "zod"].map((name) => path.join(ROOT, "node_modules", name));
  await run("npm", ["install", ...quiet, "--install-links", tarball, ...dependencies], { cwd });
}

describe("client: the package", function () {
  this.timeout(120_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("installs into an empty folder, compiles with strict, and quotes two markets", async () => {
    const { eventId } = await newEvent(stack);
    const markets = [await addMarket(stack, eventId), await addMarket(stack, eventId)];
    const { trading } = await newTrader(stack);
    await inTemporaryDirectory(async (cwd) => {
      await install(cwd);
      const { dependencies } = JSON.parse(fs.readFileSync(path.join(PACKAGE, "package.json"), "utf8")) as {
        dependencies: object;
      };
      expect(dependencies).to.have.all.keys("ws", "zod");
      expect(fs.readdirSync(path.join(cwd, "node_modules")).sort()).to.deep.equal([
        ".package-lock.json",
        "overround-client",
        "ws",
        "zod",
      ]);

      const program = exampleOfReadme("Quotes on two markets", "ts");
      const compile = async (text: string): Promise<string> => {
        fs.writeFileSync(path.join(cwd, "quote.ts"), text);
        const types = ["--types", "node", "--typeRoots", path.join(ROOT, "node_modules", "@types")];
        return run(process.execPath, [COMPILER, ...STRICT, ...types, "quote.ts"], { cwd }).then(
          () => "compiles",
          (error: unknown) => (error as { stdout: string }).stdout,
        );
      };
      expect(await compile(program.replace("qty: 10", 'qty: "10"'))).to.match(/quote\.ts.*error TS2345/);
      expect(await compile(program)).to.equal("compiles");

      fs.writeFileSync(path.join(cwd, "trade.id"), trading.key.keyId);
      fs.writeFileSync(path.join(cwd, "trade.pem"), trading.key.privateKey);
      const env = { ...process.env, EXCHANGE_URL: stack.url, BRAND: stack.brand };
      const { stdout } = await run(process.execPath, ["quote.js"], { cwd, env, timeout: 30_000 });
      for (const { marketId } of markets) expect(stdout).to.include(`quoting ${marketId}`);
      const placed = [...stdout.matchAll(/^open (\S+)$/gm)].map(([, orderId]) => orderId);
      expect(placed).to.have.length(4);
      expect(stdout).to.include(`canceled ${placed.join()}`);
    });
  });

  it("exports the same clients to Node and to browsers, and nothing else", async () => {
    const onlyInNode = ["fund", "openAccount"];
    expect(Object.keys(client)).to.have.members([...Object.keys(browserClient), ...onlyInNode]);
    expect(Object.keys(client)).to.include.members([
      "RestClient",
      "StreamClient",
      "Signer",
      "OperatorClient",
    ]);
    await inTemporaryDirectory(async (cwd) => {
      fs.mkdirSync(path.join(cwd, "node_modules"));
      fs.symlinkSync(PACKAGE, path.join(cwd, "node_modules", "overround-client"));
      const namesOf = async (specifier: string, ...flags: string[]): Promise<string[]> => {
        const script = `console.log(JSON.stringify(Object.keys(await import("${specifier}"))))`;
        const args = [...flags, "--input-type=module", "-e", script];
        return JSON.parse((await run(process.execPath, args, { cwd })).stdout) as string[];
      };
      expect(await namesOf("overround-client")).to.have.members(Object.keys(client));
      expect(await namesOf("overround-client", "--conditions=browser")).to.have.members(
        Object.keys(browserClient),
      );
      expect(await namesOf("overround-client/browser")).to.have.members(Object.keys(browserClient));
      const refused = await namesOf("overround-client/http/client/rest/rest.js").catch(String);
      expect(refused).to.contain("ERR_PACKAGE_PATH_NOT_EXPORTED");
    });
  });

  it("leaves the project itself out of every registry", async () => {
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--loglevel=error"], { cwd: ROOT });
    const [packed] = JSON.parse(stdout) as readonly [{ readonly files: readonly { path: string }[] }];
    expect(packed.files.map((file) => file.path)).to.have.members(["LICENSE", "README.md", "package.json"]);
    const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")) as object;
    expect(manifest).to.include({ private: true });
  });
});
