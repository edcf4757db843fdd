/** How fast the machine is at a moment. A virtual machine may lose half of its speed to its neighbors within minutes. */

const STEPS = 500_000;
const ATTEMPTS = 3;

/** Result of the last work, kept so that no compiler leaves the work out. */
let result = 1;

function work(): void {
  let value = result;
  for (let step = 0; step < STEPS; step += 1) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  result = value;
}

/** Returns the processor time of a fixed piece of work, in ms, without the time in which its thread waits for a core. */
export function fixedWorkMs(): number {
  let shortestMs = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    shortestMs = Math.min(shortestMs, (user + system) / 1_000);
  }
  return shortestMs;
}
