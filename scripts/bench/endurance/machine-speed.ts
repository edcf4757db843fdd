/** Speed of the machine at a moment. A virtual machine may lose half of its speed to its neighbors within minutes. */

const STEPS = 300_000;
const ATTEMPTS = 10;

/** Result of the last work, kept so that no compiler leaves the work out. */
let result = 1;

function work(): void {
  let value = result;
  for (let step = 0; step < STEPS; step += 1) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  result = value;
}

/**
 * Returns the time of a fixed piece of work in ms. It is the shortest of some attempts, so that it contains neither a wait
 * for a core nor the time in which the code is not compiled yet.
 */
export function fixedWorkMs(): number {
  let shortestMs = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const beganMs = performance.now();
    work();
    shortestMs = Math.min(shortestMs, performance.now() - beganMs);
  }
  return shortestMs;
}
