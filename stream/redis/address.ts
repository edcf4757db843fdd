/** Addresses of Redis: a server, the nodes of a cluster, or sentinels that know the primary. */

import type { RedisOptions } from "ioredis";

/**
 * Address of Redis, as `REDIS_URL` has it: one URL, a comma list of nodes of a Redis Cluster, or
 * `redis+sentinel://user:password@sentinel:26379,sentinel:26379/name`. Plain data, so that a thread can have it.
 */
export type RedisAddress =
  | { readonly kind: "server"; readonly url: string }
  | { readonly kind: "cluster"; readonly nodes: string[]; readonly credentials: RedisOptions }
  | { readonly kind: "sentinel"; readonly options: RedisOptions };

const SENTINEL = "redis+sentinel:";
const SENTINEL_PORT = 26_379;
const REDIS_PORT = "6379";

/** Reads an address. Throws on one of sentinels that is not valid, with a message that shows no password. */
export function readAddress(url: string): RedisAddress {
  if (url.startsWith(`${SENTINEL}//`)) return { kind: "sentinel", options: sentinelOptions(url) };
  const nodes = url.split(",");
  const [first = "", ...others] = nodes;
  if (others.length === 0) return { kind: "server", url };
  return { kind: "cluster", nodes, credentials: credentialsOf(new URL(first)) };
}

/** Returns the user, the password and the use of TLS of a URL, which all nodes of a cluster share. */
function credentialsOf({ username, password, protocol }: URL): RedisOptions {
  return {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
  };
}

/** Splits the URL of sentinels into the list of sentinels, and a URL with one host in its place. */
function splitSentinels(url: string): { readonly hosts: readonly string[]; readonly rest: URL } {
  const [, before = "", list = "", after = ""] =
    /^redis\+sentinel:\/\/([^/?#]*@)?([^@/?#]*)(.*)$/.exec(url) ?? [];
  return { hosts: list.split(","), rest: new URL(`redis://${before}sentinels${after}`) };
}

function sentinelOptions(url: string): RedisOptions {
  const { hosts, rest } = splitSentinels(url);
  const sentinels = hosts.map((host) => {
    const { hostname, port } = new URL(`redis://${host}`);
    return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? SENTINEL_PORT : Number(port) };
  });
  const [, name = "", database = "0", ...others] = rest.pathname.split("/");
  if (name === "" || others.length > 0 || !/^\d+$/.test(database) || hosts.includes(""))
    throw new Error("the address of sentinels needs a name: redis+sentinel://host:port,host:port/name");
  const sentinelPassword = rest.searchParams.get("sentinelPassword");
  return {
    sentinels,
    name: decodeURIComponent(name),
    db: Number(database),
    ...credentialsOf(rest),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
  };
}

/** Returns true for a valid address of sentinels. */
export function isSentinelAddress(url: string): boolean {
  if (!url.startsWith(`${SENTINEL}//`)) return false;
  try {
    sentinelOptions(url);
    return true;
  } catch {
    return false;
  }
}

/** Returns the hosts and ports of an address, without user and password. */
export function hostsOf(url: string): string {
  const address = readAddress(url);
  if (address.kind === "sentinel") {
    const { hosts, rest } = splitSentinels(url);
    return `${rest.pathname.slice(1)} of the sentinels ${hosts.join(", ")}`;
  }
  const nodes = address.kind === "cluster" ? address.nodes : [address.url];
  return nodes
    .map((node) => new URL(node))
    .map(({ hostname, port }) => `${hostname}:${port === "" ? REDIS_PORT : port}`)
    .join(", ");
}

/**
 * Returns the address of a cluster of which one node is known: that node, and then every node of the slot table, with the
 * credentials of the first. A node without a name of its own has the name by which the first is known.
 */
export function clusterAddress(
  url: string,
  nodes: Iterable<readonly [host: string | null, port: number]>,
): string {
  const urls = [new URL(url)];
  for (const [host, port] of nodes) {
    const node = new URL(url);
    if (host !== null && host !== "") node.hostname = host;
    node.port = String(port);
    urls.push(node);
  }
  // A cluster has one database.
  return urls.map((node) => Object.assign(node, { pathname: "" }).href).join(",");
}
