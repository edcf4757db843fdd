import { expect } from "chai";
import { LEAST_COMPRESSED_BYTES, takesGzip } from "../../../http/edge/compression.js";
import { startStack, type Stack } from "../../support/stack.js";
import { addMarket, newEvent, newMarket, newTrader } from "../../support/traders.js";
import { send, signed } from "../requests.js";

/** Number of markets whose list is large. */
const MARKETS = 8;

describe("the encoding of answers", function () {
  this.timeout(60_000);
  let stack: Stack;
  const list = (): string => `${stack.url}/v3/public/catalog/markets`;
  const ask = (url: string, headers: Record<string, string>): Promise<Response> => fetch(url, { headers });

  before(async () => {
    stack = await startStack();
    const { eventId } = await newEvent(stack);
    for (let n = 0; n < MARKETS; n += 1) await addMarket(stack, eventId);
  });
  after(() => stack.stop());

  it("is gzip for clients that accept it", () => {
    for (const accepted of ["gzip", "br, gzip, deflate", "gzip;q=0.5", "GZIP", "deflate;q=0, gzip"]) {
      expect(takesGzip(accepted), accepted).to.equal(true);
    }
    for (const refused of [undefined, "", "identity", "gzip;q=0", "gzip; q=0.000", "xgzip", "br;gzip"]) {
      expect(takesGzip(refused), refused).to.equal(false);
    }
  });

  it("is gzip for a large public list, with the same content, and a cache can tell the two apart", async () => {
    const packed = await ask(list(), { "Accept-Encoding": "gzip" });
    const plain = await ask(list(), { "Accept-Encoding": "identity" });
    expect(packed.headers.get("content-encoding")).to.equal("gzip");
    expect(plain.headers.get("content-encoding")).to.equal(null);
    for (const { headers } of [packed, plain]) {
      expect(headers.get("vary")).to.include("Accept-Encoding");
      expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
    }
    const text = await plain.text();
    expect(text.length).to.be.above(LEAST_COMPRESSED_BYTES);
    expect(Number(packed.headers.get("content-length"))).to.be.below(text.length / 2);
    const withoutTime = (json: string): unknown => ({ ...(JSON.parse(json) as object), asOf: 0 });
    expect(withoutTime(await packed.text())).to.deep.equal(withoutTime(text));
  });

  it("has tags that tell them apart, either of which is answered 304", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    const { trading } = await newTrader(stack);
    const order = { outcomeId: outcomes[0], price: "0.200", qty: 1, tif: "GTC" };
    const body = JSON.stringify({ orders: Array.from({ length: 40 }, () => order) });
    expect(
      (await send(stack.url, signed(trading, { method: "POST", target: "/v3/orders/batch", body }))).status,
    ).to.equal(201);
    const book = `${stack.url}/v3/public/catalog/markets/${marketId}/book`;
    const tagOf = async (encoding: string): Promise<string> =>
      (await ask(book, { "Accept-Encoding": encoding })).headers.get("etag") ?? "";
    const [plain, packed] = [await tagOf("identity"), await tagOf("gzip")];
    expect(packed).to.equal(`W/${plain}`);
    for (const tag of [plain, packed])
      expect((await ask(book, { "If-None-Match": tag })).status).to.equal(304);
  });

  it("is none for a small answer, and none for a signed request", async () => {
    const small = await ask(`${stack.url}/v3/public/types/sports`, { "Accept-Encoding": "gzip" });
    expect(small.headers.get("content-encoding")).to.equal(null);
    const { trading } = await newTrader(stack);
    const read = { target: "/v3/catalog/markets", headers: { "Accept-Encoding": "gzip" } };
    const large = await send(stack.url, signed(trading, read));
    expect(large.status).to.equal(200);
    expect(large.headers.get("content-encoding")).to.equal(undefined);
    expect(large.text.length).to.be.above(LEAST_COMPRESSED_BYTES);
  });
});
