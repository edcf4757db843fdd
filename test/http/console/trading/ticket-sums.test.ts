import { expect } from "chai";
import { PRICE_FORMS, showAverage, showPrice, showTicks } from "../../../../http/console/data/prices.js";
import { readDraft, type Draft } from "../../../../http/console/ticket/draft.js";
import { nearest, stepped, tableOf } from "../../../../http/console/ticket/steps.js";
import { previewed, profits, scheduleOf, worstBill } from "../../../../http/console/ticket/sums.js";
import { contracts, millicents, ticks } from "../../../../actors/units.js";
import { csvOf } from "../../../../http/console/data/csv.js";
import { endInWords } from "../../../../http/console/data/reasons.js";

const TABLE = tableOf(["0.001", "0.002", "0.050", "0.055", "0.060", "0.945", "0.950", "0.951", "0.999"]);
const FEE = scheduleOf({ coefficient: "0.03", makerCredit: "0.5", charged: "WHEN_LIVE" });

describe("prices in the form that a visitor chose", () => {
  it("have no odds at nothing and at the whole payout, and three decimals where two read 1.00", () => {
    for (const form of ["decimal", "american"] as const)
      expect([0, 1_000].map((value) => showTicks(value, form))).to.deep.equal(["–", "–"]);
    expect([625, 996].map((value) => showTicks(value, "decimal"))).to.deep.equal(["1.60", "1.004"]);
    expect([625, 375].map((value) => showTicks(value, "american"))).to.deep.equal(["−167", "+167"]);
  });
});

describe("average prices", () => {
  const averages = (qty: number, cost: number): string[] =>
    PRICE_FORMS.map((form) => showAverage({ qty, cost: millicents(cost) }, form));

  it("follow the form of prices, with a digit more in dollars and per cent", () => {
    expect(averages(3, 1_000)).to.deep.equal(["0.3333", "33.33 %", "3.00", "+200"]);
    expect(averages(8, 5_002)).to.deep.equal(["0.6253", "62.53 %", "1.60", "−167"]);
    expect(averages(8, 0)).to.deep.equal(["0.0000", "0.00 %", "–", "–"]);
    expect(averages(0, 0)).to.deep.equal(["", "", "", ""]);
  });
});

describe("settlement prices", () => {
  it("may be at nothing and at the whole payout", () => {
    expect(["0.000", "0.700", "1.000"].map((price) => showPrice(price, "percent"))).to.deep.equal([
      "0.0 %",
      "70.0 %",
      "100.0 %",
    ]);
  });
});

describe("price steps of the ticket", () => {
  it("follow the tick table across its change of step, and stop at its ends", () => {
    expect(stepped(TABLE, "0.050", 1)).to.equal("0.055");
    expect(stepped(TABLE, "0.055", -1)).to.equal("0.050");
    expect(stepped(TABLE, "0.950", 1)).to.equal("0.951");
    expect(stepped(TABLE, "0.002", -10)).to.equal("0.001");
    expect(stepped(TABLE, "0.951", 10)).to.equal("0.999");
  });

  it("move a price between two ticks to the next one in the direction", () => {
    expect(stepped(TABLE, "0.052", 1)).to.equal("0.055");
    expect(stepped(TABLE, "0.052", -1)).to.equal("0.050");
    expect(stepped(TABLE, ".0524", 1)).to.equal("0.055");
    expect(stepped(TABLE, "2.0", -1)).to.equal("0.999");
  });

  it("begin in the middle of the table, and leave the text while there is no table", () => {
    expect(stepped(TABLE, "", 1)).to.equal("0.060");
    expect(stepped([], "0.5", 1)).to.equal("0.5");
  });

  it("name the ticks beside a price that is none", () => {
    expect(nearest(TABLE, "0.052")).to.deep.equal(["0.050", "0.055"]);
    expect(nearest(TABLE, "0.9999")).to.deep.equal(["0.999"]);
    expect(nearest(TABLE, "abc")).to.deep.equal([]);
  });
});

describe("draft of an order", () => {
  const draft: Draft = {
    outcomeId: "o",
    price: ".055",
    qty: "1,200",
    tif: "GTC",
    minutes: "",
    selfTrade: "wash",
  };

  it("is read as people type it", () => {
    const order = { outcomeId: "o", price: 55, qty: 1200, tif: "GTC", selfTrade: "wash" };
    expect(readDraft(draft, TABLE)).to.deep.equal({ order });
    expect(readDraft({ ...draft, tif: "GTT", minutes: "1.5" }, TABLE)).to.deep.equal({
      order: { ...order, tif: "GTT", ttl: 90_000 },
    });
    expect(readDraft({ ...draft, minutes: "5" }, TABLE)).to.deep.equal({ order });
  });

  it("names every wrong field and its remedy", () => {
    const wrong = { ...draft, price: "0.052", qty: "1.5", tif: "GTT" as const, minutes: "0" };
    const read = readDraft(wrong, TABLE);
    if (!("errors" in read)) throw new Error("the draft was accepted");
    expect(read.errors.price).to.contain("0.050 or 0.055");
    expect(read.errors.qty).to.contain("whole number");
    expect(read.errors.minutes).to.contain("1 s");
    for (const qty of ["", "0", "-1", "1e3", "2147483648"])
      expect(readDraft({ ...draft, qty }, TABLE), qty).to.have.nested.property("errors.qty");
    for (const price of ["", "0", "1", "1.0", "0.0551", "x"])
      expect(readDraft({ ...draft, price }, TABLE), price).to.have.nested.property("errors.price");
  });
});

describe("sums of the ticket", () => {
  const order = { price: ticks(625), qty: contracts(100), tif: "GTC" as const };

  it("count the highest fee before the preview, in play only and not for post only", () => {
    const live = worstBill(order, FEE, true);
    expect(live).to.deep.equal({ pays: 62_500, fee: 800, wins: 100_000, loses: 63_300 });
    expect(worstBill(order, FEE, false).fee).to.equal(0);
    expect(worstBill({ ...order, tif: "PO" }, FEE, true).fee).to.equal(0);
  });

  it("take the prices of the fills and the limit of the rest from a preview", () => {
    const answer = {
      reserve: "0.63300",
      fee: "0.00702",
      fills: [
        { price: "0.620", qty: 40 },
        { price: "0.625", qty: 10 },
      ],
      rests: 50,
      queueAhead: 300,
    };
    const { bill, filled, rests } = previewed(ticks(625), answer);
    expect([filled, rests]).to.deep.equal([50, 50]);
    const pays = 40 * 620 + 10 * 625 + 50 * 625;
    expect(bill).to.deep.equal({ pays, fee: 702, wins: 100_000, loses: pays + 702 });
  });

  it("give the profit of all holdings at each result, exactly", () => {
    const held = [
      { outcomeId: "a", qty: contracts(100), cost: millicents(62_501) },
      { outcomeId: "b", qty: contracts(30), cost: millicents(3_000) },
    ];
    expect(profits(["a", "b", "c"], held)).to.deep.equal([34_499, -35_501, -65_501]);
  });
});

describe("words for the end of an order", () => {
  it("name the reason, and what had filled before", () => {
    const order = { qty: 100, remaining: 40, tif: "GTC" };
    expect(endInWords({ ...order, status: "CANCELED", reason: "GO_LIVE" })).to.equal(
      "canceled after 60 filled: the event went in play, or left it",
    );
    expect(endInWords({ ...order, tif: "IOC", status: "CANCELED" })).to.equal(
      "remainder canceled after 60 filled",
    );
    expect(endInWords({ ...order, status: "REJECTED", reason: "FROM_A_LATER_RELEASE" })).to.equal(
      "rejected: FROM_A_LATER_RELEASE",
    );
  });
});

describe("CSV", () => {
  it("quotes by RFC 4180 and leaves amounts as they are", () => {
    const columns = [
      { heading: "name", value: ({ name }: { name: string }) => name },
      { heading: "amount", value: () => "-90071992547.40991" },
      { heading: "none", value: () => undefined },
    ];
    const text = csvOf(columns, [{ name: 'Knicks, "the" first' }, { name: "two\nlines" }]);
    expect(text).to.equal(
      'name,amount,none\r\n"Knicks, ""the"" first",-90071992547.40991,\r\n"two\nlines",-90071992547.40991,\r\n',
    );
  });

  it("holds no formula, because names come from other people", () => {
    const columns = [{ heading: "name", value: ({ name }: { name: string }) => name }];
    const names = ['=HYPERLINK("https://x.example")', "+1", "@home", "-2+3", "-2.00000"];
    expect(
      csvOf(
        columns,
        names.map((name) => ({ name })),
      ),
    ).to.equal(`name\r\n"'=HYPERLINK(""https://x.example"")"\r\n'+1\r\n'@home\r\n'-2+3\r\n-2.00000\r\n`);
  });
});
