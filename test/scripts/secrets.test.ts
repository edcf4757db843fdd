import { expect } from "chai";
import fs from "node:fs";
import path from "node:path";
import { loadConfig } from "../../scripts/config.js";
import { loadSecrets } from "../../scripts/secrets.js";
import { inTemporaryDirectory } from "../support/temporary.js";

describe("the signing secrets", () => {
  it("are generated once, readable by their owner only, and different from each other", () =>
    inTemporaryDirectory((DATA_DIR) => {
      const first = loadSecrets(loadConfig({ DATA_DIR }));
      expect(first.jwtWebSecret).to.have.length.at.least(32).and.not.to.equal(first.jwtServiceSecret);
      expect(loadSecrets(loadConfig({ DATA_DIR }))).to.deep.equal(first);
      const file = path.join(DATA_DIR, "secrets.json");
      expect(fs.statSync(file).mode & 0o777).to.equal(0o600);
    }));

  it("come from the environment when they are set there", () => {
    const secrets = { jwtWebSecret: "w".repeat(32), jwtServiceSecret: "s".repeat(32) };
    const env = { JWT_WEB_SECRET: secrets.jwtWebSecret, JWT_SERVICE_SECRET: secrets.jwtServiceSecret };
    expect(loadSecrets(loadConfig(env))).to.deep.equal(secrets);
  });

  it("are never generated in production", () => {
    const config = loadConfig({ EXCHANGE_ENV: "production", JWT_WEB_SECRET: "w".repeat(32) });
    expect(() => loadSecrets(config)).to.throw(/^EXCHANGE_ENV=production needs .*JWT_SERVICE_SECRET/);
  });

  it("are not replaced when their file is damaged", () =>
    inTemporaryDirectory((DATA_DIR) => {
      fs.writeFileSync(path.join(DATA_DIR, "secrets.json"), "{}");
      expect(() => loadSecrets(loadConfig({ DATA_DIR }))).to.throw(
        /secrets\.json: the file is incomplete\. Remove the file to generate new secrets/,
      );
    }));
});
