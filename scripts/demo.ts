/**
 * The demo: fills an empty exchange with a few events, and runs two quoters and a taker on them through the public API.
 * A later start continues with the same traders, also when it was stopped while it filled the exchange. The demo does
 * nothing on an exchange that has other events.
 */

import { RestClient } from "../http/client/rest/rest.js";
import { OperatorClient } from "../http/client/rest/operator.js";
import { Session } from "../http/client/rest/session.js";
import { Connection, Signer } from "../http/client/client.js";
import type { Config } from "./config.js";
import { attempt, Quoter, Taker, type DemoMarket } from "./demo/bots.js";
import {
  readDemoDraft,
  readDemoFile,
  writeDemoDraft,
  writeDemoFile,
  type DemoDraft,
  type DemoFile,
} from "./demo/credentials.js";
import { REGION, seed } from "./demo/seed.js";
import { readGrid } from "./replay/set-up.js";
import { findExchange } from "./replay/exchange.js";
import { randomFrom } from "./replay/random.js";
import { runRole, type RunningRole } from "./roles/run-role.js";

const QUOTE_MS = 800;
const TAKE_MS = 1_700;
/** Interval of the device check-ins; an order needs one within the last three days. */
const CHECK_IN_MS = 12 * 60 * 60 * 1_000;
const STYLES = [
  { edge: 0.008, levels: 3, levelStep: 0.01, largestQty: 800 },
  { edge: 0.014, levels: 2, levelStep: 0.015, largestQty: 1_500 },
] as const;

const IDLE: RunningRole = { stop: () => Promise.resolve() };

function say(line: string): void {
  console.log(`demo: ${line}`);
}

async function startDemo(config: Config): Promise<RunningRole> {
  const exchange = await findExchange({}, config);
  const connection = new Connection(exchange.url);
  const desk = new Connection(exchange.adminUrl);
  const operator = new OperatorClient(desk, exchange.operator);
  const file = await findOrSeed(config, connection, operator, exchange.brand);
  if (file === undefined) {
    say("the exchange has events that the demo did not create; the demo does nothing");
    return IDLE;
  }
  const markets = await marketsOf(connection, file, exchange.brand);
  if (markets.length === 0) {
    say("none of the demo's markets is open; the demo does nothing");
    return IDLE;
  }
  const grid = await readGrid(operator);
  desk.close();
  return trade(connection, grid, exchange.brand, file, markets);
}

async function findOrSeed(
  config: Config,
  connection: Connection,
  operator: OperatorClient,
  brand: string,
): Promise<DemoFile | undefined> {
  const known = new Set((await operator.events()).map(({ eventId }) => eventId));
  const found = readDemoFile(config.dataDir);
  const draft = readDemoDraft(config.dataDir);
  // The draft of another exchange names events that this one does not have.
  const begun = Object.values(draft?.events ?? {}).some(({ eventId }) => known.has(eventId))
    ? draft
    : undefined;
  if (known.size > 0 && (found !== undefined || begun === undefined)) return found;
  const record = (draft: DemoDraft): void => writeDemoDraft(config.dataDir, draft);
  const fresh = await seed(connection, operator, brand, { begun, record });
  writeDemoFile(config.dataDir, fresh);
  say(`${Object.keys(fresh.fair).length} markets are open`);
  return fresh;
}

/** Returns the demo's markets that are open. */
async function marketsOf(connection: Connection, file: DemoFile, brand: string): Promise<DemoMarket[]> {
  const rest = new RestClient(connection, new Signer(file.taker.tradingKey, brand));
  const markets: DemoMarket[] = [];
  for (const [marketId, fair] of Object.entries(file.fair)) {
    const { status, outcomes } = await rest.market(marketId);
    const [first, second] = outcomes;
    if (status !== "OPEN" || first === undefined || second === undefined) continue;
    markets.push({ marketId, outcomeIds: [first.outcomeId, second.outcomeId], anchor: fair, fair });
  }
  return markets;
}

async function trade(
  connection: Connection,
  grid: Awaited<ReturnType<typeof readGrid>>,
  brand: string,
  file: DemoFile,
  markets: readonly DemoMarket[],
): Promise<RunningRole> {
  const random = randomFrom(Date.now());
  const quoters = STYLES.flatMap((style, index) => {
    const account = file.quoters[index];
    return account === undefined
      ? []
      : [new Quoter(connection, account.tradingKey, brand, style, grid, random)];
  });
  const taker = new Taker(connection, file.taker.tradingKey, brand, grid, random);
  const devices = [file.login, ...file.quoters, file.taker].map(
    ({ email, password }) => new Session(connection, { email, password }),
  );
  const checkIn = async (): Promise<void> => {
    for (const device of devices) await device.checkIn(REGION);
  };
  await attempt(checkIn, say);
  for (const quoter of quoters) {
    await quoter.start();
    for (const market of markets) await attempt(() => quoter.quote(market), say);
  }
  await taker.start(markets);
  const loops = [
    ...quoters.map((quoter) => every(QUOTE_MS * quoters.length, () => quoter.round(markets))),
    every(TAKE_MS, () => taker.round(markets)),
    every(CHECK_IN_MS, checkIn),
  ];
  return {
    stop: async () => {
      await Promise.all(loops.map((stop) => stop()));
      for (const bot of [...quoters, taker]) bot.stop();
      connection.close();
    },
  };
}

/** Runs rounds with a pause between them; the returned function stops that and waits for the current round. */
function every(pauseMs: number, round: () => Promise<void>): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running = Promise.resolve();
  const arm = (): void => {
    timer = setTimeout(() => {
      running = attempt(round, say).then(() => {
        if (!stopped) arm();
      });
    }, pauseMs);
  };
  arm();
  return () => {
    stopped = true;
    clearTimeout(timer);
    return running;
  };
}

await runRole(
  {
    name: "demo",
    call: "node scripts/setup.mjs demo",
    summary:
      "Fills an empty exchange with a few markets and trades them through the public API until it is stopped.",
  },
  startDemo,
);
