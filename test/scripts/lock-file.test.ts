import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, "..", "..", file), "utf8"));

describe("the lock file", () => {
  const { packages } = read("package-lock.json") as { readonly packages: Readonly<Record<string, Entry>> };
  const { dependencies, devDependencies, optionalDependencies, allowScripts } = read(
    "package.json",
  ) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const installed = Object.entries(packages).filter(([location]) => location !== "");

  it("names what it stands for by its content, and no place to get it from", () => {
    expect(installed).to.have.length.above(100);
    for (const [location, { integrity, resolved, link }] of installed) {
      expect(link, location).to.equal(undefined);
      expect(integrity, location).to.match(/^sha512-[A-Za-z0-9+/]{86}==$/);
      expect(resolved, location).to.equal(undefined);
    }
  });

  it("has no script that runs at an installation but those that were looked at", () => {
    for (const [location, { hasInstallScript = false }] of installed) {
      const name = location.split("node_modules/").at(-1) ?? "";
      if (hasInstallScript) expect(allowScripts, location).to.have.property(name);
    }
  });

  it("has the very versions that the package asks for", () => {
    const asked = { ...dependencies, ...devDependencies, ...optionalDependencies };
    for (const [name, wanted] of Object.entries(asked)) {
      const version = String(wanted).split("@").at(-1) ?? "";
      expect(version, name).to.match(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
      expect(packages[`node_modules/${name}`]?.version, name).to.equal(version);
    }
  });
});
