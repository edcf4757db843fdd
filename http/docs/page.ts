/** Serves `/openapi.json` and `/docs`, the page that shows it. The page loads every file from this service. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Express } from "express";
import { PAGE_POLICY } from "../edge/headers.js";
import { notesOf } from "../edge/incoming.js";
import { openApi, type Described } from "./document.js";

const require = createRequire(import.meta.url);
const own = (name: string): string => `${import.meta.dirname}/page/${name}`;
const swagger = (name: string): string => require.resolve(`swagger-ui-dist/${name}`);

/** Files of the page: path, content type, file. */
const FILES = [
  ["/docs", "html", own("index.html")],
  ["/docs/start.js", "js", own("start.js")],
  ["/docs/page.css", "css", own("page.css")],
  ["/docs/swagger-ui-bundle.js", "js", swagger("swagger-ui-bundle.js")],
  ["/docs/swagger-ui.css", "css", swagger("swagger-ui.css")],
  ["/docs/favicon.png", "png", swagger("favicon-32x32.png")],
] as const;

/** Mounts the document and its page. Both are built, or read, at the first request. */
export function mountDocs(app: Express, described: Described): void {
  let document: string | undefined;
  app.get("/openapi.json", (_req, res) => {
    notesOf(res).route = "GET /openapi.json";
    document ??= JSON.stringify(openApi(described));
    res.type("json").send(document);
  });
  const read = new Map<string, Buffer>();
  for (const [path, type, file] of FILES) {
    app.get(path, (_req, res) => {
      notesOf(res).route = "GET /docs";
      const bytes = read.get(file) ?? readFileSync(file);
      read.set(file, bytes);
      res.set({ "Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache" });
      res.type(type).send(bytes);
    });
  }
}
