/**
 * Process that does only the work of every signed request: Express, the body, and one Ed25519 verification. The parent
 * passes the brand and the key, receives the port, and then the used CPU time for each message that it sends.
 */

import { createPublicKey, verify } from "node:crypto";
import type { AddressInfo } from "node:net";
import express from "express";
import { canonicalText } from "../../http/auth/canonical.js";
import { bodyDigest } from "../../http/auth/signing.js";

const [, , brand = "", pem = ""] = process.argv;
const publicKey = createPublicKey(pem);
const app = express();
app.use(express.raw({ type: "application/json" }));
app.post("/v3/orders", (req, res) => {
  const text = canonicalText({
    brand,
    timestamp: req.get(`${brand}-Timestamp`) ?? "",
    method: req.method,
    path: req.path,
    query: "",
    bodyDigest: bodyDigest(req.body as Buffer),
  });
  const signature = Buffer.from(req.get(`${brand}-Signature`) ?? "", "base64");
  if (!verify(null, Buffer.from(text), publicKey, signature))
    res.status(401).json({ code: "SIGNATURE_REJECTED" });
  else res.status(201).json({ orderId: "6f9619ff-8b86-4011-b42d-00c04fc964ff" });
});
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6 });
});
process.on("disconnect", () => process.exit(0));
