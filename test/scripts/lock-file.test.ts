import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, "..", "..", file), "utf8"));

/** Returns whether a package that is installed at `location` finds a dependency there or in a directory above. */
function isFound(packages: Readonly<Record<string, Entry>>, location: string, name: string): boolean {
  const above = location.split("/node_modules/");
  return (
    above.some((_, depth) => {
      const directory = above.slice(0, above.length - depth).join("/node_modules/");
      return packages[`${directory}/node_modules/${name}`] !== undefined;
    }) || packages[`node_modules/${name}`] !== undefined
  );
}

describe("the lock file", () => {
  const { packages } = read("package-lock.json") as { readonly packages: Readonly<Record<string, Entry>> };
  const { dependencies, devDependencies, optionalDependencies, allowScripts } = read(
    "package.json",
  ) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const installed = Object.entries(packages).filter(([location]) => location !== "");

  it("names each package by its content, and no registry host", () => {
    expect(installed).to.have.length.above(100);
    for (const [location, { integrity, resolved, link }] of installed) {
      expect(link, location).to.equal(undefined);
      expect(integrity, location).to.match(/^sha512-[A-Za-z0-9+/]{86}==$/);
      expect(resolved, location).to.equal(undefined);
    }
  });

  it("has every dependency of every package, also those of other platforms", () => {
    for (const [location, { dependencies, optionalDependencies }] of installed) {
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
        expect(isFound(packages, location, name), `${location} needs ${name}`).to.equal(true);
      }
    }
  });

  it("has no install script outside the allow list of package.json", () => {
    for (const [location, { hasInstallScript = false }] of installed) {
      const name = location.split("node_modules/").at(-1) ?? "";
      if (hasInstallScript) expect(allowScripts, location).to.have.property(name);
    }
  });

  it("has the exact versions of package.json", () => {
    const required = { ...dependencies, ...devDependencies, ...optionalDependencies };
    for (const [name, range] of Object.entries(required)) {
      const version = String(range).split("@").at(-1) ?? "";
      expect(version, name).to.match(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
      expect(packages[`node_modules/${name}`]?.version, name).to.equal(version);
    }
  });
});
