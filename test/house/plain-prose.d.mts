/** Returns the problem with the first word of a comment, or undefined. */
export function openingProblem(text: string): string | undefined;

/** Returns the problem with the first word of a sentence in a Markdown page, or undefined. */
export function sentenceProblem(text: string): string | undefined;

/** Returns the problem with a word of the text that has a standard term, or undefined. */
export function wordProblem(text: string): string | undefined;
