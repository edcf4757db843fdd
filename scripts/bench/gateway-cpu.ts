/** What the gateway at an address has used of its core so far, in seconds. A busy machine does not blur it. */
export async function gatewayCpuSeconds(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)?.[1]);
}
