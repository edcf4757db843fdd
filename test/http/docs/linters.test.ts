import { createConfig, lintFromString } from "@redocly/openapi-core";
import { getDiagnosticSeverity, Ruleset, Spectral } from "@stoplight/spectral-core";
import { asyncapi, oas } from "@stoplight/spectral-rulesets";
import { expect } from "chai";
import { startStack } from "../../support/stack.js";

async function redocly(source: string): Promise<string[]> {
  const problems = await lintFromString({ source, config: await createConfig({ extends: ["recommended"] }) });
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

/** Returns the errors and the warnings, without mere advice such as a newer version of AsyncAPI. */
async function spectral(source: string, rules: typeof oas | typeof asyncapi): Promise<string[]> {
  const linter = new Spectral();
  linter.setRuleset(new Ruleset(rules));
  const problems = (await linter.run(source)).filter(
    ({ severity }) => severity <= getDiagnosticSeverity("warn"),
  );
  return problems.map(({ code, path, message }) => `${code} at ${path.join(".")}: ${message}`);
}

describe("the documents, read by linters with their recommended rules", function () {
  this.timeout(200_000);
  let openApi: string;
  let asyncApi: string;

  before(async () => {
    const stack = await startStack();
    const textOf = async (name: string): Promise<string> => {
      const response = await fetch(`${stack.url}/${name}`);
      expect(response.status).to.equal(200);
      return response.text();
    };
    try {
      openApi = await textOf("openapi.json");
      asyncApi = await textOf("asyncapi.json");
    } finally {
      // The linters hold the event loop for longer than an exchange in this process could bear.
      await stack.stop();
    }
  });

  it("have no problem that Redocly reports", async () => {
    expect(await redocly(openApi)).to.deep.equal([]);
    expect(await redocly(asyncApi)).to.deep.equal([]);
  });

  it("have no problem that Spectral reports", async () => {
    expect(await spectral(openApi, oas)).to.deep.equal([]);
    expect(await spectral(asyncApi, asyncapi)).to.deep.equal([]);
  });

  it("would have problems without a license, a summary, tags, a version or a known field", async () => {
    const unlicensed = openApi.replace('"license":', '"x-license":').replace('"summary":', '"x-summary":');
    expect((await redocly(unlicensed)).join("\n"))
      .to.contain("info-license")
      .and.to.contain("operation-summary");
    expect((await redocly(asyncApi.replace('"info":', '"inform":'))).join("\n")).to.contain("struct");
    const untagged = openApi.replaceAll('"tags":[', '"x-tags":[');
    expect((await spectral(untagged, oas)).join("\n")).to.contain("operation-tags");
    const unversioned = asyncApi.replace('"version":', '"x-version":');
    expect((await spectral(unversioned, asyncapi)).join("\n")).to.contain("asyncapi-3-document-resolved");
  });
});
