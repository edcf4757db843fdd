/** Settings of the service that the gateway writes into the document as `<meta name="overround-...">`. */

function meta(name: string, otherwise: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="overround-${name}"]`)?.content ?? otherwise;
}

/** Callers for whom this port has routes: `all`, `clients` or `operators`. */
const serves = meta("serves", "all");

export const settings = {
  /** Prefix of the headers of a signature, and name of its scheme (contract section 5.3). */
  brand: meta("brand", "Svc"),
  /** Identity of these files. */
  release: meta("release", "development"),
  /** True where the demo runs, in development. */
  demo: meta("demo", "false") === "true",
  /** True where this port serves the operators' routes. */
  admin: serves !== "clients",
  /** True where this port serves the routes of visitors and traders. */
  clients: serves !== "operators",
} as const;
