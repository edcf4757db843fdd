/** Set-up of an exchange whose gateway is measured: of several on a port, each request may reach another one. */
export const ONE_GATEWAY = { GATEWAYS: "1" };

/** Returns the CPU time that the only gateway at an address has used, in seconds; a busy machine does not affect it. */
export async function gatewayCpuSeconds(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total\S* (\S+)/m.exec(metrics)?.[1]);
}
