/** Addresses of the pages. The gateway answers each of them with the same document (see ../../pages.ts). */

export const PATHS = [
  "/",
  "/markets/:marketId",
  "/portfolio",
  "/keys",
  "/lab",
  "/account",
  "/login",
  "/register",
  "/status",
  "/operator",
  "/operator/:section",
  "/operator/:section/:id",
  "/operator/:section/:id/:part",
] as const;

export type Path = (typeof PATHS)[number];

/** Returns the parameters of `path` when it has the form of `pattern`. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? "";
    if (segment.startsWith(":")) {
      if (value === "") return undefined;
      parameters[segment.slice(1)] = value;
    } else if (segment !== value) return undefined;
  }
  return parameters;
}
