/** The text files of the repository, and the headings, links and citations in them. */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** One text file; `file` is its path below the root, with forward slashes. */
export interface Document {
  readonly file: string;
  readonly text: string;
}

/** A heading of a Markdown page with the anchor that a link names it by. */
export interface Heading {
  readonly level: number;
  readonly title: string;
  readonly anchor: string;
  readonly line: number;
}

/** A link of a Markdown page; `start` and `end` bound its text. */
interface Link {
  readonly target: string;
  readonly start: number;
  readonly end: number;
}

/** A mention of numbered sections; `of` is the word before it, such as `contract`, in lower case. */
export interface Citation {
  readonly of: string | undefined;
  readonly numbers: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** Returns the paths of all files that git tracks, or would track after `git add`. */
export function repositoryFiles(): readonly string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ls-files failed: ${stderr}`);
  const files = stdout.split("\0").filter((file) => file !== "");
  return files.filter((file) => fs.existsSync(path.join(ROOT, file)));
}

/** Reads the files that have one of the extensions. */
export function documentsOf(files: readonly string[], extensions: readonly string[]): readonly Document[] {
  return files
    .filter((file) => extensions.includes(path.extname(file)))
    .map((file) => ({ file, text: fs.readFileSync(path.join(ROOT, file), "utf8") }));
}

/** The line of a place in a text, counted from 1. */
export function lineOf(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

const blank = (text: string): string => text.replace(/[^\n]/g, " ");

/** Blanks code blocks and code spans, so that places stay as they were. */
export function withoutCode(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1[^\n]*$/gm, blank).replace(/(`+)(?!`)[^`]*?\1/g, blank);
}

/** The anchor that GitHub gives to a heading, before repeats are numbered. */
function slugOf(title: string): string {
  const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  return plain
    .trim()
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** The headings of a Markdown text, in order. */
export function headingsOf(text: string): readonly Heading[] {
  const repeats = new Map<string, number>();
  const lines = text.split("\n");
  const visible = withoutCode(text).split("\n");
  return lines.flatMap((line, index) => {
    const [, marks, title] = /^(#{1,6}) +(.*)$/.exec(line) ?? [];
    if (marks === undefined || title === undefined || !visible[index]?.startsWith("#")) return [];
    const slug = slugOf(title);
    const count = repeats.get(slug) ?? 0;
    repeats.set(slug, count + 1);
    const anchor = count === 0 ? slug : `${slug}-${count}`;
    return [{ level: marks.length, title, anchor, line: index + 1 }];
  });
}

/** The inline links of a Markdown text, in order. */
export function linksOf(text: string): readonly Link[] {
  const links: Link[] = [];
  for (const match of withoutCode(text).matchAll(/\[([^[\]]*)\]\(([^()\s]+)\)/g)) {
    const [, label = "", target = ""] = match;
    links.push({ target, start: match.index + 1, end: match.index + 1 + label.length });
  }
  return links;
}

/** The tables of a Markdown text: their rows, each as its cells by the title of the column. */
export function tablesOf(text: string): readonly (readonly ReadonlyMap<string, string>[])[] {
  return [...text.matchAll(/(?:^\|.*\|\n)+/gm)].map(([table]) => {
    const [titles = [], , ...rows] = table
      .trimEnd()
      .split("\n")
      .map((row) =>
        row
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim()),
      );
    return rows.map((cells) => new Map(cells.map((cell, column) => [titles[column] ?? "", cell])));
  });
}

/** White space, which in a comment may run over the end of a line. */
const GAP = String.raw`(?:[ \t]|\r?\n[ \t]*(?:\*|//|--)?[ \t]*)+`;
const NUMBER = String.raw`\d+(?:\.\d+)*`;
const NUMBERS = `${NUMBER}(?:(?:,${GAP}|${GAP}(?:and|to)${GAP})${NUMBER})*`;
const CITATION = new RegExp(
  String.raw`(?:\b(?<before>\w+),?${GAP})?\bsections?${GAP}(?<numbers>${NUMBERS})`,
  "gi",
);

/** The citations in a text: `contract section 5.3`, `contract sections 2 to 4`, `RFC 6749, section 5.2`. */
export function citationsOf({ file, text }: Document): readonly Citation[] {
  const searched = file.endsWith(".md") ? withoutCode(text) : text;
  return [...searched.matchAll(CITATION)].map((match) => {
    const { before, numbers = "" } = match.groups ?? {};
    return {
      of: before?.toLowerCase(),
      numbers: numbers.match(new RegExp(NUMBER, "g")) ?? [],
      start: match.index,
      end: match.index + match[0].length,
    };
  });
}
