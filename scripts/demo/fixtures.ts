/** Events of the demo: a few games of several leagues, with markets of two outcomes. */

import type { NewEvent, NewMarket, Team } from "../../http/client/wire/operator.js";

/** Market to open, with the initial probability of its first outcome. */
interface MarketFixture extends Omit<NewMarket, "eventId"> {
  readonly fair: number;
}

export interface EventFixture extends Omit<NewEvent, "startsTs"> {
  /** Hours until the game starts; negative for a game in play. */
  readonly startsInHours: number;
  readonly live: boolean;
  readonly markets: readonly MarketFixture[];
}

function team(name: string, shortName: string, symbol: string): Team {
  return { name, shortName, symbol };
}

function winner(home: string, away: string, fair: number): MarketFixture {
  return {
    marketType: "MONEY",
    description: `${home} v ${away}: winner`,
    voids: "PUSH",
    outcomes: [{ name: home }, { name: away }],
    fair,
  };
}

/** Returns a handicap market; `strike` is the handicap of the home side with its sign. */
function spread(home: string, away: string, strike: `${"+" | "-"}${number}`, fair: number): MarketFixture {
  const other = `${strike.startsWith("-") ? "+" : "-"}${strike.slice(1)}`;
  return {
    marketType: "SPREAD",
    description: `${home} ${strike}`,
    strike: strike.replace("+", ""),
    voids: "PUSH",
    outcomes: [{ name: `${home} ${strike}` }, { name: `${away} ${other}` }],
    fair,
  };
}

function total(unit: string, strike: string, fair: number, marketType = "TOTAL"): MarketFixture {
  return {
    marketType,
    description: `Total ${unit} ${strike}`,
    strike,
    voids: "PUSH",
    outcomes: [{ name: `Over ${strike}` }, { name: `Under ${strike}` }],
    fair,
  };
}

function game(
  sport: string,
  league: string,
  [home, away]: readonly [Team, Team],
  when: { readonly startsInHours: number; readonly live?: boolean },
  markets: readonly MarketFixture[],
): EventFixture {
  const description = `${home.name} v ${away.name}`;
  const { startsInHours, live = false } = when;
  return {
    sport,
    league,
    type: "Game",
    description,
    game: { homeTeam: home, awayTeam: away },
    startsInHours,
    live,
    markets,
  };
}

const BILLS = team("Buffalo Bills", "Bills", "BUF");
const CHIEFS = team("Kansas City Chiefs", "Chiefs", "KC");
const KNICKS = team("New York Knicks", "Knicks", "NYK");
const CELTICS = team("Boston Celtics", "Celtics", "BOS");
const ARSENAL = team("Arsenal", "Arsenal", "ARS");
const LIVERPOOL = team("Liverpool", "Liverpool", "LIV");
const ALCARAZ = team("Carlos Alcaraz", "Alcaraz", "ALC");
const SINNER = team("Jannik Sinner", "Sinner", "SIN");
const DODGERS = team("Los Angeles Dodgers", "Dodgers", "LAD");
const YANKEES = team("New York Yankees", "Yankees", "NYY");

export const EVENTS: readonly EventFixture[] = [
  game("FOOTBALL", "NFL", [BILLS, CHIEFS], { startsInHours: 26 }, [
    winner("Buffalo Bills", "Kansas City Chiefs", 0.54),
    spread("Buffalo Bills", "Kansas City Chiefs", "-2.5", 0.48),
    total("points", "47.5", 0.51),
  ]),
  game("BASKETBALL", "NBA", [KNICKS, CELTICS], { startsInHours: 0, live: true }, [
    winner("New York Knicks", "Boston Celtics", 0.37),
    spread("New York Knicks", "Boston Celtics", "+5.5", 0.52),
    total("points", "221.5", 0.49),
  ]),
  game("SOCCER", "EPL", [ARSENAL, LIVERPOOL], { startsInHours: 50 }, [
    total("goals", "2.5", 0.57),
    {
      marketType: "BOTH_TEAMS_TO_SCORE",
      description: "Both teams to score",
      voids: "PUSH",
      outcomes: [{ name: "Yes" }, { name: "No" }],
      fair: 0.61,
    },
  ]),
  game("TENNIS", "ATP", [ALCARAZ, SINNER], { startsInHours: 5 }, [
    winner("Carlos Alcaraz", "Jannik Sinner", 0.47),
    total("sets", "3.5", 0.55, "TOTAL_SETS"),
  ]),
  game("BASEBALL", "MLB", [DODGERS, YANKEES], { startsInHours: 9 }, [
    winner("Los Angeles Dodgers", "New York Yankees", 0.58),
    total("runs", "8.5", 0.46),
  ]),
];
