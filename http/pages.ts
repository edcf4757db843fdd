/**
 * Serves the console: one document for the addresses of all pages, and the files that it loads. They are read from disk
 * at the first request, so that the pages also open while Redis, Postgres or the workers are away.
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import type { Express, Request, RequestHandler, Response } from "express";
import { PATHS } from "./console/app/paths.js";
import { isForOperators, type OtherPorts } from "./edge/doors.js";
import { PAGE_POLICY } from "./edge/headers.js";
import { notesOf } from "./edge/incoming.js";
import { Refused } from "./request/errors.js";

/** The name of a file in this folder has a hash of its content. */
const ASSETS = "/assets";
const ICON = "/favicon.svg";
const RELEASE = "/release.json";
const YEAR_S = 365 * 24 * 60 * 60;

interface PagesParts {
  /** Folder of the built console. */
  readonly folder: string;
  readonly brand: string;
  /** True where the routes of the demo exist. */
  readonly demo: boolean;
  readonly ports: OtherPorts;
}

/** File of the console, with its compressed form where that is smaller. */
interface ServedFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}

function servedFile(name: string, bytes: Buffer): ServedFile {
  return { type: path.extname(name).slice(1), bytes, gzipped: gzipSync(bytes) };
}

/** Callers for whom a port has routes; the pages offer no others. */
type Served = "all" | "clients" | "operators";

/** The console as it was built. */
class Built {
  readonly release: string;
  readonly #html: string;
  readonly #files = new Map<string, ServedFile>();
  readonly #documents = new Map<Served, ServedFile>();

  constructor(
    folder: string,
    private readonly settings: Pick<PagesParts, "brand" | "demo">,
  ) {
    this.#html = readFileSync(path.join(folder, "index.html"), "utf8");
    this.release = createHash("sha256").update(this.#html).digest("hex").slice(0, 16);
    for (const name of readdirSync(path.join(folder, ASSETS))) this.#read(folder, `${ASSETS}/${name}`);
    this.#read(folder, ICON);
  }

  #read(folder: string, address: string): void {
    this.#files.set(address, servedFile(address, readFileSync(path.join(folder, address))));
  }

  file(address: string): ServedFile | undefined {
    return this.#files.get(address);
  }

  /** Returns the document, with the settings of the service for the pages. */
  document(serves: Served): ServedFile {
    const known = this.#documents.get(serves);
    if (known !== undefined) return known;
    const settings = { ...this.settings, release: this.release, serves };
    const metas = Object.entries(settings).map(
      ([name, content]) => `<meta name="overround-${name}" content="${content}" />`,
    );
    const html = this.#html.replace("</head>", `${metas.join("\n")}\n</head>`);
    const made = servedFile("index.html", Buffer.from(html));
    this.#documents.set(serves, made);
    return made;
  }
}

/**
 * Mounts the console. An exchange whose console is not built answers its addresses with 404, like any other. Returns the
 * handler of addresses that nothing serves: a browser gets the document, which says that there is no such page.
 */
export function mountPages(app: Express, { folder, ports, brand, demo }: PagesParts): RequestHandler {
  let built: Built | undefined;
  const current = (): Built => {
    if (built === undefined && !existsSync(path.join(folder, "index.html")))
      throw new Refused("ROUTE_NOT_FOUND");
    return (built ??= new Built(folder, { brand, demo }));
  };
  const send = (req: Request, res: Response, { type, bytes, gzipped }: ServedFile): void => {
    notesOf(res).route = "GET /";
    res.set({ "Content-Security-Policy": PAGE_POLICY }).vary("Accept-Encoding").type(type);
    if (req.acceptsEncodings("gzip") === false || gzipped.length >= bytes.length) res.send(bytes);
    else res.set("Content-Encoding", "gzip").send(gzipped);
  };
  const served = (req: Request): Served => {
    if (ports.admin === undefined) return "all";
    return isForOperators(req, ports) ? "operators" : "clients";
  };
  const showDocument: RequestHandler = (req, res) => {
    res.set("Cache-Control", "no-cache");
    send(req, res, current().document(served(req)));
  };
  for (const address of PATHS) app.get(address, showDocument);
  const showFile =
    (maxAgeS: number): RequestHandler =>
    (req, res) => {
      const file = current().file(req.path);
      if (file === undefined) throw new Refused("ROUTE_NOT_FOUND");
      res.set("Cache-Control", maxAgeS === 0 ? "no-cache" : `public, max-age=${maxAgeS}, immutable`);
      send(req, res, file);
    };
  app.get(`${ASSETS}/:name`, showFile(YEAR_S));
  app.get(ICON, showFile(0));
  app.get(RELEASE, (_req, res) => {
    notesOf(res).route = "GET /";
    res.set("Cache-Control", "no-store").json({ release: current().release });
  });
  return (req, res, next) => {
    const wantsPage = req.method === "GET" && req.accepts(["json", "html"]) === "html";
    if (!wantsPage || !existsSync(path.join(folder, "index.html"))) {
      next();
      return;
    }
    res.status(404).vary("Accept");
    showDocument(req, res, next);
  };
}
