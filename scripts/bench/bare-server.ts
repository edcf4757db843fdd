/** HTTP server in a thread of its own that answers every request with the same bytes: the limit of the network alone. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

const bytes = Buffer.from(workerData as Uint8Array);
const server = createServer((_request, response) => {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": bytes.length }).end(bytes);
});
server.listen(0, "127.0.0.1", () => {
  parentPort?.postMessage((server.address() as AddressInfo).port);
});
