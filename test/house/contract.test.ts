import { createHash } from "node:crypto";
import path from "node:path";
import { expect } from "chai";
import { canonicalQuery, canonicalText } from "../../http/auth/canonical.js";
import { ERRORS, wireCode } from "../../http/request/errors.js";
import { KEY_BUCKETS } from "../../http/request/throttle.js";
import { describeVariables } from "../../scripts/config.js";
import { VERBS } from "../../stream/ws/socket/protocol.js";
import { RULES } from "../http/matrix/contract.js";
import { ROUTES } from "../http/matrix/routes.js";
import {
  citationsOf,
  documentsOf,
  headingsOf,
  lineOf,
  linksOf,
  repositoryFiles,
  type Citation,
  type Document,
  type Heading,
} from "./documents.js";

const FILES = repositoryFiles();
const CODE = documentsOf(FILES, [".ts", ".tsx", ".lua", ".mjs", ".sql"]);
const PAGES = documentsOf(FILES, [".md"]);
const CONTRACT = PAGES.filter(({ file }) => path.posix.basename(file) === "CONTRACT.md");
const HEADINGS = new Map(PAGES.map(({ file, text }) => [file, headingsOf(text)]));
const LINKS = new Map(PAGES.map(({ file, text }) => [file, linksOf(text)]));
const FOLDERS = new Set(
  FILES.flatMap((file) => file.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"))),
);
const PATHS = new Set([...FILES, ...FOLDERS]);

interface Section extends Heading {
  readonly number: string;
  readonly file: string;
}

/** The numbered headings of the contract, in the order of the pages. */
const SECTIONS: readonly Section[] = CONTRACT.flatMap(({ file }) =>
  (HEADINGS.get(file) ?? []).flatMap((heading) => {
    const number = /^(\d+(?:\.\d+)?) /.exec(heading.title)?.[1];
    return number === undefined ? [] : [{ ...heading, number, file }];
  }),
);
const BY_NUMBER = new Map(SECTIONS.map((section) => [section.number, section]));

/** Documents that exist beside the repository and not in it. */
const OUTSIDE = /\b(?:shared|design)\/(?:spec|design|vectors|reference|data|hooks|[\w-]+\.md)\b/g;

function at({ file, text }: Document, index: number, problem: string): string {
  return `${file}:${lineOf(text, index)}: ${problem}`;
}

/** Recognizes a citation of another document, such as `RFC 6749, section 5.2`. */
function isForeign({ of }: Citation): boolean {
  return of !== undefined && /^\d+$/.test(of);
}

function unresolved({ numbers }: Citation): readonly string[] {
  return numbers.filter((number) => !BY_NUMBER.has(number));
}

function problemOfCode(citation: Citation): string | undefined {
  if (isForeign(citation)) return undefined;
  if (citation.of !== "contract") return "write 'contract section N', so that the reader knows what is cited";
  const [missing] = unresolved(citation);
  return missing === undefined ? undefined : `the contract has no section ${missing}`;
}

/** Target of a link of a page: a path below the root, and an anchor. */
function destinationOf(file: string, target: string): { readonly page: string; readonly anchor: string } {
  const [relative = "", anchor = ""] = target.split("#");
  const page = relative === "" ? file : path.posix.join(path.posix.dirname(file), decodeURI(relative));
  return { page: page.replace(/\/$/, ""), anchor };
}

function problemOfCitation(page: Document, citation: Citation): string | undefined {
  if (isForeign(citation)) return undefined;
  const [missing] = unresolved(citation);
  if (missing !== undefined) return `the contract has no section ${missing}`;
  const [number = "", ...others] = citation.numbers;
  const section = BY_NUMBER.get(number);
  const links = LINKS.get(page.file) ?? [];
  const link = links.find(({ start, end }) => start <= citation.start && citation.end <= end);
  if (link === undefined || others.length > 0) return `make section ${number} a link of its own`;
  const { page: leadsTo, anchor } = destinationOf(page.file, link.target);
  return leadsTo === section?.file && anchor === section.anchor
    ? undefined
    : `section ${number} is ${section?.file ?? ""}#${section?.anchor ?? ""}, and the link leads elsewhere`;
}

function problemOfLink(page: Document, target: string): string | undefined {
  if (/^(?:https?|mailto):/.test(target)) return undefined;
  const { page: leadsTo, anchor } = destinationOf(page.file, target);
  if (!PATHS.has(leadsTo)) return `there is no ${leadsTo}`;
  if (anchor === "" || (HEADINGS.get(leadsTo) ?? []).some((heading) => heading.anchor === anchor))
    return undefined;
  return `${leadsTo} has no heading #${anchor}`;
}

/** Fails with every problem, one a line, instead of the first one. */
function expectNone(problems: readonly string[]): void {
  expect(problems.length, `\n${problems.join("\n")}\n`).to.equal(0);
}

describe("the contract", () => {
  it("numbers each section once, and subsections from 1 without a gap", () => {
    const tops = SECTIONS.filter(({ level }) => level === 2).map(({ number }) => Number(number));
    expect(tops.toSorted((a, b) => a - b)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(BY_NUMBER.size, "a number has two headings").to.equal(SECTIONS.length);
    let top = "";
    let last = 0;
    for (const { number, level, file } of SECTIONS) {
      if (level === 2) [top, last] = [number, 0];
      else expect(number, file).to.equal(`${top}.${(last += 1)}`);
    }
  });

  it("is cited in code by sections that exist", () => {
    expectNone(
      CODE.flatMap((file) =>
        citationsOf(file).flatMap((citation) => {
          const problem = problemOfCode(citation);
          return problem === undefined ? [] : [at(file, citation.start, problem)];
        }),
      ),
    );
  });

  it("is cited in Markdown by links to the sections", () => {
    expectNone(
      PAGES.flatMap((page) =>
        citationsOf(page).flatMap((citation) => {
          const problem = problemOfCitation(page, citation);
          return problem === undefined ? [] : [at(page, citation.start, problem)];
        }),
      ),
    );
  });

  const text = CONTRACT.map((page) => page.text).join("\n");
  const missing = (names: Iterable<string>): readonly string[] =>
    [...names].filter((name) => !text.includes(`\`${name}`));

  it("has one row for every route that the service has, and for no other", () => {
    expect([...RULES.keys()].toSorted()).to.deep.equal([...ROUTES.keys()].toSorted());
  });

  it("names every error code, and every verb of the stream", () => {
    expect(missing(ERRORS.map(({ code }) => wireCode(code)))).to.deep.equal([]);
    expect(missing(Object.keys(VERBS))).to.deep.equal([]);
  });

  /** The rows of all tables of the contract, each as its cells without code marks. */
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .replaceAll("`", "")
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  it("gives each error code its status, and no others", () => {
    const listed = rows.filter(
      ([status = "", code = ""]) => /^[45]\d\d$/.test(status) && /^[A-Z_]+$/.test(code),
    );
    const pairs = listed.map(([status = "", code = ""]) => `${status} ${code}`);
    expect(pairs.toSorted()).to.deep.equal(
      ERRORS.map(({ code, status }) => `${status} ${wireCode(code)}`).toSorted(),
    );
  });

  it("gives each bucket of a key its numbers", () => {
    for (const [name, { capacity, refillPerSec }] of Object.entries(KEY_BUCKETS)) {
      const row = rows.find(([first, second]) => first === name && /^\d+$/.test(second ?? ""));
      expect(row?.slice(1, 3), name).to.deep.equal([String(capacity), String(refillPerSec)]);
    }
  });

  it("shows examples of signing that the service would build", () => {
    const [, query = "", canonical] = /`([^`\s]+)`\s+becomes\s+`([^`\s]+)`/.exec(text) ?? [];
    expect(canonical).to.equal(canonicalQuery(query));
    const body = /`(\{"outcomeId":[^`]+\})`/.exec(text)?.[1] ?? "";
    const example = /```\n(SVC-V3\n[^`]+)\n```/.exec(text)?.[1];
    const bodyDigest = createHash("sha256").update(body).digest("hex");
    const order = { method: "POST", path: "/v3/orders", query: "", bodyDigest };
    expect(example).to.equal(canonicalText({ brand: "Svc", timestamp: "1790000000000", ...order }));
  });

  it("lists each amendment that is planned, and where it stands", () => {
    const marked = SECTIONS.flatMap(({ number, file, line }, index) => {
      const next = SECTIONS[index + 1];
      const end = next?.file === file ? next.line - 1 : undefined;
      const body =
        CONTRACT.find((page) => page.file === file)
          ?.text.split("\n")
          .slice(line, end)
          .join(" ") ?? "";
      return [...body.matchAll(/Planned\s+\(amendment\s+(\d+)\)/g)].map(
        ([, amendment = ""]) => `${amendment} in ${number}`,
      );
    });
    const front = CONTRACT.find(({ file }) => file === "http/CONTRACT.md");
    const listed = (front?.text ?? "").split("\n").flatMap((line) => {
      const [, amendment] = /^\| (\d+) +\|/.exec(line) ?? [];
      if (amendment === undefined) return [];
      return [...line.matchAll(/\[section ([\d.]+)\]/g)].map(
        ([, number = ""]) => `${amendment} in ${number}`,
      );
    });
    expect(listed.toSorted()).to.deep.equal([...new Set(marked)].toSorted());
  });

  it("gives each environment variable its default, and no others", () => {
    const [, ...help] = describeVariables().split(/\n {2}(?=[A-Z])/);
    const declared = help.map((entry) => {
      const [, name = "", initial = "none"] =
        /^([A-Z_]+)[^]*?(?:Default:\s+(\S+)\.)?$/.exec(entry.trim()) ?? [];
      return `${name} ${initial}`;
    });
    const listed = rows
      .filter(([names = ""]) => /^[A-Z]+(?:_[A-Z]+)*(?:, [A-Z_]+)*$/.test(names))
      .flatMap(([names = "", initial = ""]) => {
        const variables = names
          .split(", ")
          .filter((name) => declared.some((line) => line.startsWith(`${name} `)));
        const defaults = initial.split(", ");
        return variables.map((name, index) => `${name} ${defaults[index] ?? defaults[0] ?? ""}`);
      });
    const withoutDefault = /(?: none| embedded| generated| found| as requested)$/;
    const plain = (line: string): string => line.replace(withoutDefault, " none");
    expect(listed.map(plain).toSorted()).to.deep.equal(declared.map(plain).toSorted());
  });
});

describe("the documents", () => {
  it("link to files and headings that exist", () => {
    expectNone(
      PAGES.flatMap((page) =>
        (LINKS.get(page.file) ?? []).flatMap(({ target, start }) => {
          const problem = problemOfLink(page, target);
          return problem === undefined ? [] : [at(page, start, problem)];
        }),
      ),
    );
  });

  it("and the code cite nothing that is not in the repository", () => {
    expectNone(
      [...CODE, ...PAGES].flatMap((file) =>
        [...file.text.matchAll(OUTSIDE)].map((match) =>
          at(file, match.index, `${match[0]} is not in the repository`),
        ),
      ),
    );
  });
});
