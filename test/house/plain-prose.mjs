/** Rules of prose in .github/CONTRIBUTING.md, for the lint of comments and for the test of READMEs and Lua files. */

/** Words that open no comment, because they hide the subject of the sentence. */
const OPENINGS = /^(What|Who|When|Whether|How|Those|That|Whatever|Whoever|It|They)\b/;

/** Words that open no sentence of a page; a pronoun may follow its noun, and a clause with "When" its condition. */
const SENTENCE_OPENINGS = /^(What|Who|Whether|How|Those|That|Whatever|Whoever)\b/;

/** Words for which the field has a standard term, with that term. */
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

function problemOf(pattern, text) {
  const [opening] = pattern.exec(text) ?? [];
  return opening && `open with a verb or a noun phrase, not with '${opening}'`;
}

export function openingProblem(text) {
  return problemOf(OPENINGS, text);
}

export function sentenceProblem(text) {
  return problemOf(SENTENCE_OPENINGS, text);
}

export function wordProblem(text) {
  for (const [word, term] of PLAIN_WORDS) {
    const found = word.exec(text);
    if (found !== null) return `use ${term} instead of '${found[0]}'`;
  }
  return undefined;
}
