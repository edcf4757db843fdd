import { expect } from "chai";
import { documentsOf, repositoryFiles, withoutCode } from "./documents.js";
import { openingProblem, sentenceProblem, wordProblem } from "./plain-prose.mjs";

/** Column of the examples that CONTRIBUTING.md advises against. */
const COUNTEREXAMPLES = "Not";
const FILES = repositoryFiles();

function cellsOf(row: string): readonly string[] {
  return row.slice(1, -1).split(/(?<!\\)\|/);
}

/** Returns the cells below the titles of a table, without counterexamples. */
function cellsOfTable(table: string): readonly string[] {
  const [titles = [], , ...rows] = table.trimEnd().split("\n").map(cellsOf);
  const excluded = titles.findIndex((title) => title.trim() === COUNTEREXAMPLES);
  return rows.flatMap((cells) => cells.filter((_, column) => column !== excluded));
}

/** Returns the paragraphs, list items and table cells of a Markdown text. Headings are no sentences. */
function paragraphsOf(text: string): readonly string[] {
  return withoutCode(text)
    .replaceAll(/^#+ .*$/gm, "")
    .split(/\n\s*\n|\n(?= *(?:[-*]|\d+\.) )/)
    .flatMap((block) => (block.trim().startsWith("|") ? cellsOfTable(block.trim()) : [block]))
    .map((block) => block.trim().replace(/^(?:[-*]|\d+\.) /, ""))
    .map((block) => block.replaceAll(/\s+/g, " "));
}

/** Returns the comments of a Lua text; consecutive lines are one comment. */
function luaCommentsOf(text: string): readonly string[] {
  const comments = text.match(/^ *--.*(?:\n *--.*)*/gm) ?? [];
  return comments.map((comment) => comment.replaceAll(/^ *-- ?/gm, "").replaceAll(/\s+/g, " "));
}

/** Returns the problems of the paragraphs. In a page, unlike in a comment, a paragraph may open with a condition. */
function problemsOf(file: string, paragraphs: readonly string[]): readonly string[] {
  const isPage = file.endsWith(".md");
  return paragraphs.flatMap((paragraph) => {
    const sentences = paragraph.split(/(?<=[.!?]) (?=[A-Z])/).slice(1);
    const problems = [
      isPage && paragraph.startsWith("When ") ? undefined : openingProblem(paragraph),
      wordProblem(paragraph),
      ...sentences.map((sentence) => sentenceProblem(sentence)),
    ];
    return problems.flatMap((problem) =>
      problem === undefined ? [] : [`${file}: "${paragraph.slice(0, 60)}...": ${problem}`],
    );
  });
}

function expectNone(problems: readonly string[]): void {
  expect(problems.length, `\n${problems.join("\n")}\n`).to.equal(0);
}

describe("the prose", () => {
  it("of every Markdown page opens plainly and uses the field's words", () => {
    expectNone(documentsOf(FILES, [".md"]).flatMap(({ file, text }) => problemsOf(file, paragraphsOf(text))));
  });

  it("of every comment in Lua opens plainly and uses the field's words", () => {
    expectNone(
      documentsOf(FILES, [".lua"]).flatMap(({ file, text }) => problemsOf(file, luaCommentsOf(text))),
    );
  });

  it("is checked in tables, lists and comments", () => {
    // The words stand apart, because the linter reads the strings of this file too.
    const [verb, noun] = ["told", "bell"];
    const page = `# How\n\nGood.\n\n- What is bad.\n- Fine. Whoever\n\n| A | Not |\n| - | --- |\n| It is | ${verb} |\n`;
    expect(problemsOf("page.md", paragraphsOf(page))).to.have.length(3);
    expect(
      problemsOf("script.lua", luaCommentsOf(`-- Sets a key.\n  -- The ${noun}\nlocal a = 1\n`)),
    ).to.have.length(1);
  });
});
