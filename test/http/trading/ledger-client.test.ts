import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { LedgerCommand, LedgerReply } from "../../../actors/ledger/commands.js";
import { askWithIds } from "../../../http/trading/ledger-client.js";
import { type AskOptions, Unavailable } from "../../../stream/log/ports.js";

describe("a command with ids about which the ledger is uncertain", function () {
  this.timeout(10_000);
  const command: LedgerCommand = { kind: "groups", wallet: randomUUID() };
  const rest: LedgerCommand = { kind: "groups", wallet: randomUUID() };

  /** Sends it while the tables answer after `silentMs` that they are behind. Returns what was sent to the ledger. */
  async function sendWhile(silentMs: number) {
    const sent: { readonly command: LedgerCommand; readonly timeoutMs: number | undefined }[] = [];
    const exchange = {
      ledgerOnce: (_: number, given: LedgerCommand, { timeoutMs }: AskOptions) => {
        sent.push({ command: given, timeoutMs });
        const reply: LedgerReply =
          sent.length === 1
            ? { ok: true, kind: "uncertain", ids: ["id"], sinceMs: 0 }
            : { ok: true, kind: "groups", groups: [] };
        return Promise.resolve({ reply, repeated: false });
      },
    };
    const hasReached = (): Promise<boolean> =>
      new Promise((resolve) => setTimeout(() => resolve(false), silentMs));
    const lookedUp = (): Promise<LedgerCommand> => Promise.reject(new Error("the tables are behind"));
    const result = await askWithIds(
      { exchange, freshness: { hasReached } },
      randomUUID(),
      { command, lookedUp, without: () => rest },
      randomUUID(),
    ).catch((error: unknown) => error);
    return { sent, result };
  }

  it("is carried out without them within the time of the whole request", async () => {
    const { sent } = await sendWhile(1_000);
    expect(sent.map((each) => each.command)).to.deep.equal([command, rest]);
    expect(sent[1]?.timeoutMs).to.be.within(1_500, 2_501);
  });

  it("is given up when the tables have been silent for that time, because its caller may have canceled since", async () => {
    const { sent, result } = await sendWhile(3_510);
    expect(sent).to.have.length(1);
    expect(result).to.be.instanceOf(Unavailable);
  });
});
