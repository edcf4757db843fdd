/** An option of a command, declared under its name without the leading dashes. */
export interface Option {
  /** Name of the option's value in the help, such as `FILE`; absent for a flag. */
  readonly value?: string;
  /** One letter that stands for the option. */
  readonly short?: string;
  readonly default?: string;
  readonly description: string;
}

/** Command line of one script. */
export interface Command<
  Options extends Readonly<Record<string, Option>> = Readonly<Record<string, Option>>,
> {
  /** Prefix of the command's messages. */
  readonly name: string;
  /** Shell command before the arguments, such as `npm run replay --`. */
  readonly call: string;
  readonly summary: string;
  /** Arguments that are not options; absent: the command takes none. */
  readonly operands?: { readonly usage: string; readonly min?: number; readonly max: number };
  readonly options: Options;
  /** Returns further sections of the help. */
  readonly notes?: () => string;
}

/** Arguments of one call: flags are booleans, the other options are texts, absent without a default. */
export interface CommandLine<Options extends Readonly<Record<string, Option>>> {
  readonly values: {
    readonly [Name in keyof Options]: Options[Name] extends { readonly value: string }
      ? Options[Name] extends { readonly default: string }
        ? string
        : string | undefined
      : boolean;
  };
  readonly operands: readonly string[];
}

/** Reports arguments that the command does not take; the message names the argument and the remedy. */
export class UsageError extends Error {}

/** Parses the arguments, or returns the help when they ask for it. Throws `UsageError`. */
export function parseCommandLine<const Options extends Readonly<Record<string, Option>>>(
  command: Command<Options>,
  args: readonly string[],
): (CommandLine<Options> & { readonly help?: undefined }) | { readonly help: string };

/**
 * Returns the arguments of this process as `interpret` makes them; without `interpret`, as they were parsed. Prints
 * the help and ends the process with 0 when they ask for it; ends it with 2 and one line on a `UsageError`.
 */
export function readCommandLine<const Options extends Readonly<Record<string, Option>>>(
  command: Command<Options>,
): CommandLine<Options>;
export function readCommandLine<const Options extends Readonly<Record<string, Option>>, Result>(
  command: Command<Options>,
  interpret: (line: CommandLine<Options>) => Result,
): Result;

/** Returns terms with their descriptions as two columns. */
export function listing(rows: readonly (readonly [term: string, description: string])[]): string;
