import path from "node:path";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";
import { openingProblem, wordProblem } from "./test/house/plain-prose.mjs";

/**
 * Folders of the code from left to right. A file may import its own folder and every folder to its left; `packages` are
 * the npm packages that a folder may import, and `builtins` the modules of Node. Those of actors/ are pure: digests of
 * texts, and the base64 of bytes.
 */
const FOLDERS = [
  { name: "actors", packages: ["zod"], builtins: ["node:buffer", "node:crypto"] },
  { name: "stream", packages: ["zod", "ioredis", "bullmq", "ws", "pino", "prom-client"], builtins: true },
  { name: "db", packages: ["zod", "ioredis", "drizzle-orm", "pg", "pino", "prom-client"], builtins: true },
  { name: "http", packages: "any", builtins: true },
  { name: "scripts", packages: "any", builtins: true },
];

function packageName(specifier) {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
}

/** Returns why `file` may not import `specifier`, or undefined when it may. */
function forbidden(root, file, specifier) {
  const here = path.relative(root, file).split(path.sep)[0];
  const from = FOLDERS.findIndex((folder) => folder.name === here);
  const folder = FOLDERS[from];
  if (folder === undefined) return undefined;
  if (specifier.startsWith(".")) {
    const target = path.relative(root, path.resolve(path.dirname(file), specifier)).split(path.sep)[0];
    const to = FOLDERS.findIndex((other) => other.name === target);
    if (to === -1) return `'${target}' is not a folder that ${here}/ may import`;
    return to > from ? `${here}/ may not import ${target}/: an import may only point left` : undefined;
  }
  if (specifier.startsWith("node:")) {
    return folder.builtins === true || folder.builtins.includes(specifier)
      ? undefined
      : `${here}/ is pure: no clock, randomness, I/O or other module of Node`;
  }
  if (folder.packages === "any" || folder.packages.includes(packageName(specifier))) return undefined;
  return `${here}/ may only import these packages: ${folder.packages.join(", ")}`;
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

/** Holds comments and messages to the rules of prose in .github/CONTRIBUTING.md. */
const plainProse = {
  meta: { type: "suggestion", schema: [] },
  create(context) {
    const checkText = (node, text) => {
      const message = text.includes(" ") ? wordProblem(text) : undefined;
      if (message !== undefined) context.report({ node, message });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const text = comment.value.replace(/^[\s*]+/, "").replace(/\n\s*\*/g, " ");
          const message = openingProblem(text) ?? wordProblem(text);
          if (message !== undefined) context.report({ loc: comment.loc, message });
        }
      },
      Literal: (node) => checkText(node, String(node.value)),
      TemplateElement: (node) => checkText(node, node.value.raw),
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
        { object: "Buffer", property: "allocUnsafe", message: IMPURE },
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
    files: ["http/console/**/*.ts", "http/console/**/*.tsx"],
    languageOptions: { parserOptions: { project: "http/console/tsconfig.json" } },
    // Indexes of `dataset` and of parameters are declared by the platform.
    rules: { "@typescript-eslint/dot-notation": "off" },
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
