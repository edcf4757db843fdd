/**
 * The command lines of all scripts. A command declares its operands and options once; this module reads them,
 * prints the help, and rejects arguments that are not declared. It imports nothing but Node's own modules, because
 * `setup.mjs` uses it before anything is installed. The types are in `command-line.d.mts`.
 */
import { parseArgs } from "node:util";

const HELP_WIDTH = 100;
const HELP_OPTION = { short: "h", description: "Prints this help and does nothing else." };

export class UsageError extends Error {
  name = "UsageError";
}

export function parseCommandLine(command, args) {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries({ ...command.options, help: HELP_OPTION }).map(parserOption),
      ),
    });
  } catch (error) {
    if (!String(error.code).startsWith("ERR_PARSE_ARGS_")) throw error;
    throw new UsageError(remedied(command, firstSentence(error.message)));
  }
  const { help, ...values } = parsed.values;
  if (help) return { help: helpOf(command) };
  const operands = parsed.positionals;
  const { usage, min = 0, max } = command.operands ?? { max: 0 };
  if (operands.length > max) {
    throw new UsageError(remedied(command, `unexpected argument '${operands[max]}'`));
  }
  if (operands.length < min) throw new UsageError(remedied(command, `${usage} is missing`));
  return { values, operands };
}

export function readCommandLine(command, interpret = (line) => line) {
  try {
    const line = parseCommandLine(command, process.argv.slice(2));
    if (line.help === undefined) return interpret(line);
    console.log(line.help);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${command.name}: ${error.message}`);
    process.exit(2);
  }
}

function helpOf({ call, operands, summary, options, notes }) {
  const usage = [call, operands?.usage, "[options]"].filter((part) => part !== undefined).join(" ");
  const rows = Object.entries({ ...options, help: HELP_OPTION }).map(([name, option]) => [
    [option.short === undefined ? "" : `-${option.short}, `, `--${name}`, option.value && ` ${option.value}`]
      .filter(Boolean)
      .join(""),
    option.default === undefined ? option.description : `${option.description} Default: ${option.default}.`,
  ]);
  const sections = [`Usage: ${usage}`, wrap(summary, HELP_WIDTH).join("\n"), `Options:\n${listing(rows)}`];
  if (notes !== undefined) sections.push(notes());
  return sections.join("\n\n");
}

export function listing(rows) {
  const indent = Math.max(...rows.map(([term]) => term.length)) + 4;
  return rows
    .map(([term, description]) => {
      const [first = "", ...rest] = wrap(description, HELP_WIDTH - indent);
      const lines = [`  ${term}`.padEnd(indent) + first, ...rest.map((line) => " ".repeat(indent) + line)];
      return lines.join("\n");
    })
    .join("\n");
}

function parserOption([name, { value, short, default: initial }]) {
  const type = value === undefined ? { type: "boolean", default: false } : { type: "string" };
  return [name, { ...type, ...(short && { short }), ...(initial !== undefined && { default: initial }) }];
}

function firstSentence(message) {
  const [sentence = ""] = message.split(/\.\s/);
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

function remedied({ call }, problem) {
  return `${problem}; "${call} --help" lists the options`;
}

function wrap(text, width) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
