/** Shows the progress of a long task: a bar on a terminal, a line every few seconds elsewhere. */

export interface Progress {
  /** Shows that `done` of the total are done, with a note beside it. */
  update(done: number, note: string): void;
  /** Prints a line above the bar. */
  say(line: string): void;
  finish(): void;
}

const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LINE_MS = 5_000;
const CLEAR_LINE = "\r\x1b[2K";

export function showProgress(total: number, out: NodeJS.WriteStream = process.stdout): Progress {
  const drawing = out.isTTY;
  let shownAt = 0;
  let last = "";
  const draw = (done: number, note: string): string => {
    const part = total === 0 ? 1 : Math.min(1, done / total);
    const percent = `${Math.floor(part * 100)}%`.padStart(4);
    if (!drawing) return `replay:${percent} ${done} of ${total} messages, ${note}\n`;
    const filled = Math.round(part * BAR_WIDTH);
    return `${CLEAR_LINE}[${"=".repeat(filled)}${" ".repeat(BAR_WIDTH - filled)}]${percent} ${note}`.slice(
      0,
      out.columns + CLEAR_LINE.length - 1,
    );
  };
  return {
    update: (done, note) => {
      const now = Date.now();
      if (now - shownAt < (drawing ? REDRAW_MS : LINE_MS)) return;
      shownAt = now;
      last = draw(done, note);
      out.write(last);
    },
    say: (line) => {
      out.write(drawing ? `${CLEAR_LINE}${line}\n${last}` : `${line}\n`);
    },
    finish: () => {
      if (drawing) out.write(CLEAR_LINE);
    },
  };
}
