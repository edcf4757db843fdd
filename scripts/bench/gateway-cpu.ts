/** Returns the CPU time that the gateway at an address has used, in seconds; a busy machine does not affect it. */
export async function gatewayCpuSeconds(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)?.[1]);
}
