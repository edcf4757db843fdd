import type { IncomingMessage } from "node:http";
import { expect } from "chai";
import express from "express";
import { addressOf } from "../../../http/edge/address.js";

/** Makes an upgrade that arrives from an address, with the `X-Forwarded-For` header of its proxies. */
function upgrade(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage;
}

function readerFor(trustProxy: number | readonly string[] | undefined): (request: IncomingMessage) => string {
  const app = express();
  if (trustProxy !== undefined) app.set("trust proxy", trustProxy);
  return addressOf(app);
}

describe("the address of a caller", () => {
  const cases: [string, number | readonly string[] | undefined, IncomingMessage, string][] = [
    ["is that of its socket without a proxy", undefined, upgrade("192.0.2.1", "203.0.113.9"), "192.0.2.1"],
    [
      "is the entry that the first of two trusted proxies wrote",
      2,
      upgrade("::1", "a, 203.0.113.9, 10.0.0.1"),
      "203.0.113.9",
    ],
    ["is that of its socket when the proxy sends no header", 1, upgrade("192.0.2.1"), "192.0.2.1"],
    [
      "is the last entry when its socket is in a trusted network",
      ["10.0.0.0/8"],
      upgrade("10.1.2.3", "203.0.113.9"),
      "203.0.113.9",
    ],
    [
      "is the last entry when its socket has a mapped address of a trusted network",
      ["10.0.0.0/8"],
      upgrade("::ffff:10.1.2.3", "2001:db8::1"),
      "2001:db8::1",
    ],
    [
      "is that of its socket when no trusted network holds it",
      ["10.0.0.0/8"],
      upgrade("::ffff:11.1.2.3", "2001:db8::1"),
      "::ffff:11.1.2.3",
    ],
    [
      "is the first entry when all addresses are trusted",
      ["10.0.0.0/8", "::1"],
      upgrade("::1", "10.0.0.1,10.0.0.2"),
      "10.0.0.1",
    ],
    ["is the last entry that is not blank", 1, upgrade("::1", "203.0.113.9, , "), "203.0.113.9"],
    [
      "is any text that stands behind a trusted network",
      ["10.0.0.0/8"],
      upgrade("10.0.0.1", "garbage"),
      "garbage",
    ],
    ["is empty once the connection is closed", 1, upgrade(undefined, "203.0.113.9"), ""],
  ];
  for (const [name, trustProxy, request, expected] of cases) {
    it(name, () => expect(readerFor(trustProxy)(request)).to.equal(expected));
  }

  for (const network of ["0.0.0.0/0", "::/0", "10.0.0.0/33", "garbage"]) {
    it(`cannot be read with ${network} as the trusted network`, () => {
      expect(() => readerFor([network])).to.throw(TypeError, network.split("/")[0]);
    });
  }
});
