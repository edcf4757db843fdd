import type { IncomingMessage } from "node:http";
import { expect } from "chai";
import express from "express";
import { addressOf } from "../../../http/edge/address.js";

/** An upgrade that arrives from an address, with the `X-Forwarded-For` header that its proxies have written. */
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
    ["is its socket's without a proxy", undefined, upgrade("192.0.2.1", "203.0.113.9"), "192.0.2.1"],
    [
      "is the last one written by as many proxies as are trusted",
      2,
      upgrade("::1", "a, 203.0.113.9, 10.0.0.1"),
      "203.0.113.9",
    ],
    ["is its socket's when a proxy has written nothing", 1, upgrade("192.0.2.1"), "192.0.2.1"],
    ["is that behind a trusted network", ["10.0.0.0/8"], upgrade("10.1.2.3", "203.0.113.9"), "203.0.113.9"],
    [
      "is that behind a trusted network's mapped address",
      ["10.0.0.0/8"],
      upgrade("::ffff:10.1.2.3", "2001:db8::1"),
      "2001:db8::1",
    ],
    [
      "is its socket's when no network trusts that",
      ["10.0.0.0/8"],
      upgrade("::ffff:11.1.2.3", "2001:db8::1"),
      "::ffff:11.1.2.3",
    ],
    [
      "is the first that was forwarded when all are trusted",
      ["10.0.0.0/8", "::1"],
      upgrade("::1", "10.0.0.1,10.0.0.2"),
      "10.0.0.1",
    ],
    ["skips entries that are blank", 1, upgrade("::1", "203.0.113.9, , "), "203.0.113.9"],
    ["may be garbage that the client sent", ["10.0.0.0/8"], upgrade("10.0.0.1", "garbage"), "garbage"],
    ["is empty once the connection is gone", 1, upgrade(undefined, "203.0.113.9"), ""],
  ];
  for (const [name, trustProxy, request, expected] of cases) {
    it(name, () => expect(readerFor(trustProxy)(request)).to.equal(expected));
  }

  for (const network of ["0.0.0.0/0", "::/0", "10.0.0.0/33", "garbage"]) {
    it(`does not believe the network ${network}`, () => {
      expect(() => readerFor([network])).to.throw(TypeError, network.split("/")[0]);
    });
  }
});
