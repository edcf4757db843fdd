/** Settings of the service that the gateway writes into the document as `<meta name="overround-...">`. */

function meta(name: string, otherwise: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="overround-${name}"]`)?.content ?? otherwise;
}

export const settings = {
  /** Prefix of the headers of a signature, and name of its scheme (contract section 5.3). */
  brand: meta("brand", "Svc"),
  /** Identity of these files. */
  release: meta("release", "development"),
  /** True where the demo runs, in development. */
  demo: meta("demo", "false") === "true",
  /** True where this port serves the operators' routes. */
  admin: meta("admin", "true") === "true",
} as const;
