import path from "node:path";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/**
 * The rooms of the house, left to right. A file may import its own room and every room to its left;
 * `packages` are the npm packages a room may import, `builtins` says whether it may import `node:*`.
 */
const ROOMS = [
  { name: "actors", packages: ["zod"], builtins: false },
  { name: "stream", packages: ["zod", "ioredis", "bullmq", "ws", "pino", "prom-client"], builtins: true },
  { name: "db", packages: ["zod", "ioredis", "drizzle-orm", "pg", "pino", "prom-client"], builtins: true },
  { name: "http", packages: "any", builtins: true },
  { name: "scripts", packages: "any", builtins: true },
];

function packageName(specifier) {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
}

/** Says why `specifier` may not be imported from `file`, or returns undefined when it may. */
function forbidden(root, file, specifier) {
  const here = path.relative(root, file).split(path.sep)[0];
  const from = ROOMS.findIndex((room) => room.name === here);
  const room = ROOMS[from];
  if (room === undefined) return undefined;
  if (specifier.startsWith(".")) {
    const target = path.relative(root, path.resolve(path.dirname(file), specifier)).split(path.sep)[0];
    const to = ROOMS.findIndex((other) => other.name === target);
    if (to === -1) return `'${target}' is not a room that ${here}/ may import`;
    return to > from ? `${here}/ may not import ${target}/: an import may only point left` : undefined;
  }
  if (specifier.startsWith("node:")) {
    return room.builtins ? undefined : `${here}/ is pure: no clock, randomness, I/O or node: module`;
  }
  if (room.packages === "any" || room.packages.includes(packageName(specifier))) return undefined;
  return `${here}/ may only import these packages: ${room.packages.join(", ")}`;
}

const importDirections = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const check = (node) => {
      if (node.source?.type !== "Literal") return;
      const message = forbidden(context.cwd, context.filename, String(node.source.value));
      if (message !== undefined) context.report({ node: node.source, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

/** Words that no comment may open with: they hide the subject of the sentence. */
const OPENINGS = /^(What|Who|When|Whether|How|Those|That|Whatever|Whoever|It|They)\b/;

/** Words that have a standard term in the field, and the term to use instead. */
const PLAIN_WORDS = [
  [/\b(told|tells|spoken of)\b/i, "'emitted', 'reported', 'named' or 'sent'"],
  [/\b(heard|hears|hearing|hearer)\b/i, "'received' or 'subscribed'"],
  [/\b(mend|mends|mended)\b/i, "'fix' or 'repair'"],
  [/\b(wish|wishes)\b/i, "'request' or 'option'"],
  [/\b(bells?|rung|rings|ringing|rang)\b/i, "'notification' or 'notified'"],
  [/\btenures?\b/i, "'ownership'"],
  [/\b(sightings?)\b/i, "'actor status'"],
  [/\b(torment|goodbye|residents?|upkeep)\b/i, "the field's term (see the glossary in README.md)"],
];

function proseProblem(text) {
  const opening = OPENINGS.exec(text);
  if (opening) return `a comment opens with a verb or a noun phrase, not with '${opening[0]}'`;
  const found = PLAIN_WORDS.find(([word]) => word.test(text));
  return found && `use ${found[1]} instead of '${found[0].exec(text)[0]}'`;
}

/** Holds comments and messages to the rules of prose in .github/CONTRIBUTING.md. */
const plainProse = {
  meta: { type: "suggestion", schema: [] },
  create(context) {
    const checkWords = (node, text) => {
      const found = PLAIN_WORDS.find(([word]) => word.test(text));
      if (found) context.report({ node, message: `use ${found[1]} instead of '${found[0].exec(text)[0]}'` });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const text = comment.value.replace(/^[\s*]+/, "").replace(/\n\s*\*/g, " ");
          const message = proseProblem(text);
          if (message) context.report({ loc: comment.loc, message });
        }
      },
      Literal(node) {
        if (typeof node.value === "string" && node.value.includes(" ")) checkWords(node, node.value);
      },
      TemplateElement(node) {
        if (node.value.raw.includes(" ")) checkWords(node, node.value.raw);
      },
    };
  },
};

const IMPURE = "actors/ is pure: time, ids and randomness arrive in the command.";
const ENVIRONMENT = "Only scripts/config.ts reads the environment; take what you need as a parameter.";

export default defineConfig(
  { ignores: [".build/**", ".data/**", ".cache/**", ".coverage/**", ".bench/**"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: "test/tsconfig.json", tsconfigRootDir: import.meta.dirname },
    },
    plugins: { overround: { rules: { "import-directions": importDirections, "plain-prose": plainProse } } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "overround/import-directions": "error",
      "overround/plain-prose": "error",
      "no-console": "error",
      eqeqeq: "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/consistent-type-definitions": "off",
      // There are no enums to assign to, and looking for them at every assignment takes seconds.
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-restricted-properties": ["error", { object: "process", property: "env", message: ENVIRONMENT }],
    },
  },
  {
    files: ["actors/**/*.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...[
          "process",
          "Buffer",
          "performance",
          "crypto",
          "setTimeout",
          "setInterval",
          "setImmediate",
          "queueMicrotask",
          "fetch",
          "console",
        ].map((name) => ({ name, message: IMPURE })),
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: IMPURE },
        { object: "Math", property: "random", message: IMPURE },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: IMPURE },
        { selector: "CallExpression[callee.name='Date']", message: IMPURE },
        { selector: "AwaitExpression", message: "actors/ is synchronous: a command in, deltas out." },
      ],
    },
  },
  {
    files: ["scripts/**/*.ts"],
    rules: { "no-console": "off" },
  },
  {
    files: ["scripts/config.ts"],
    rules: { "no-restricted-properties": "off" },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      // Chai assertions such as `expect(x).to.be.true` are expressions by design.
      "@typescript-eslint/no-unused-expressions": "off",
      "no-restricted-properties": "off",
      "no-console": "off",
    },
  },
);
