INSERT INTO "sports" ("name") VALUES
  ('BASEBALL'), ('BASKETBALL'), ('ENTERTAINMENT'), ('FOOTBALL'), ('GOLF'), ('HOCKEY'),
  ('MMA'), ('SOCCER'), ('TENNIS');
--> statement-breakpoint
INSERT INTO "leagues" ("name", "sport") VALUES
  ('NFL', 'FOOTBALL'), ('NBA', 'BASKETBALL'), ('MLB', 'BASEBALL'), ('NHL', 'HOCKEY'),
  ('NCAAF', 'FOOTBALL'), ('NCAAB', 'BASKETBALL'), ('NCAAWB', 'BASKETBALL'), ('WNBA', 'BASKETBALL'),
  ('UFC', 'MMA'), ('MLS', 'SOCCER'), ('FIFA Club World Cup', 'SOCCER'), ('EPL', 'SOCCER'),
  ('Bundesliga', 'SOCCER'), ('Serie A', 'SOCCER'), ('La Liga', 'SOCCER'), ('Ligue 1', 'SOCCER'),
  ('Champions League', 'SOCCER'), ('Europa League', 'SOCCER'), ('WTA', 'TENNIS'), ('ATP', 'TENNIS'),
  ('PGA', 'GOLF'), ('ENTERTAINMENT', 'ENTERTAINMENT'), ('NCAABSB', 'BASEBALL'), ('WBC', 'BASEBALL');
--> statement-breakpoint
INSERT INTO "market_types" ("name") VALUES
  ('CUSTOM'), ('MONEY'), ('SPREAD'), ('TOTAL'), ('1X2'),
  ('TEAM_TOTAL'), ('MONEY_1H'), ('SPREAD_1H'), ('TOTAL_1H'), ('RUSHING_ATTEMPTS'),
  ('RUSHING_YARDS'), ('PASSING_COMPLETIONS'), ('PASSING_YARDS'), ('PASSING_ATTEMPTS'), ('RECEPTIONS'),
  ('RECEIVING_YARDS'), ('LONGEST_RECEPTION'), ('LONGEST_RUSH'), ('LONGEST_COMPLETION'), ('RUSHING_AND_RECEIVING_YARDS'),
  ('PITCHER_STRIKEOUTS'), ('HOME_RUNS'), ('TOTAL_BASES'), ('RBIS'), ('HITS'),
  ('HITS_RUNS_RBIS'), ('PITCHER_OUTS'), ('RUNS'), ('WALKS'), ('EARNED_RUNS'),
  ('HITS_ALLOWED'), ('BATTING_STRIKEOUTS'), ('STOLEN_BASES'), ('THREE_POINTERS_MADE'), ('BLOCKS'),
  ('DOUBLE_DOUBLE'), ('POINTS'), ('REBOUNDS'), ('POINTS_REBOUNDS_ASSISTS'), ('POINTS_ASSISTS'),
  ('POINTS_REBOUNDS'), ('REBOUNDS_ASSISTS'), ('STEALS'), ('STEALS_BLOCKS'), ('TRIPLE_DOUBLE'),
  ('FIRST_BASKET'), ('PLAYER_ACES'), ('TURNOVERS'), ('SET_SPREAD'), ('TOTAL_SETS'),
  ('FIRST_SET_MONEYLINE'), ('FIRST_GOAL_SCORER'), ('PLAYER_GOALS'), ('ASSISTS'), ('ANYTIME_TOUCHDOWN_SCORER'),
  ('FIRST_TOUCHDOWN_SCORER'), ('GO_THE_DISTANCE'), ('VICTORY_BY_KO_KTO_OR_DQ'), ('VICTORY_BY_DECISION'), ('VICTORY_BY_SUBMISSION'),
  ('DRAW'), ('PLAYER_BIRDIES_OR_BETTER'), ('FIRST_ROUND_MONEYLINE'), ('SECOND_ROUND_MONEYLINE'), ('THIRD_ROUND_MONEYLINE'),
  ('FOURTH_ROUND_MONEYLINE'), ('FIRST_INNING_TOTAL'), ('TO_MAKE_THE_PLAYOFFS'), ('REGULAR_SEASON_WINS'), ('SERIES_WINNER'),
  ('CHAMPIONSHIP_WINNING_DIVISION'), ('CHAMPIONSHIP_WINNER'), ('MVP_WINNER'), ('EASTERN_CONFERENCE_WINNER'), ('WESTERN_CONFERENCE_WINNER'),
  ('FINALS_MVP'), ('WINNER'), ('TOP_FIVE_FINISH'), ('TOP_TEN_FINISH'), ('TOP_TWENTY_FINISH'),
  ('AL_CENTRAL_DIVISION_WINNER'), ('NL_CENTRAL_DIVISION_WINNER'), ('AL_EAST_DIVISION_WINNER'), ('NL_EAST_DIVISION_WINNER'), ('AL_WEST_DIVISION_WINNER'),
  ('NL_WEST_DIVISION_WINNER'), ('AL_CY_YOUNG_WINNER'), ('NL_CY_YOUNG_WINNER'), ('AL_MVP'), ('NL_MVP'),
  ('AL_ROTY'), ('NL_ROTY'), ('AL_WINNER'), ('NL_WINNER'), ('WORLD_SERIES_WINNER'),
  ('STANLEY_CUP_WINNER'), ('SUPER_BOWL_WINNER'), ('NFC_CONFERENCE_WINNER'), ('AFC_CONFERENCE_WINNER'), ('NFC_NORTH_WINNER'),
  ('NFC_EAST_WINNER'), ('NFC_SOUTH_WINNER'), ('NFC_WEST_WINNER'), ('AFC_NORTH_WINNER'), ('AFC_EAST_WINNER'),
  ('AFC_SOUTH_WINNER'), ('AFC_WEST_WINNER'), ('OPOTY'), ('DPOTY'), ('OROTY'),
  ('DROTY'), ('TO_ADVANCE'), ('PLAYER_GAMES_WON'), ('BOTH_TEAMS_TO_SCORE'), ('FOULS'),
  ('GOALS_ASSISTS'), ('SAVES'), ('SHOTS_ON_TARGET'), ('TEAM_TOTAL_CORNERS'), ('TOTAL_CORNERS');
--> statement-breakpoint
-- The grid of the specification: thousandths at both ends, half hundredths between.
INSERT INTO "tick_tables" ("prices", "published_ts")
SELECT array_agg("price" ORDER BY "price")::smallint[], 0
FROM (
  SELECT generate_series(1, 50) AS "price"
  UNION ALL SELECT generate_series(55, 945, 5)
  UNION ALL SELECT generate_series(950, 999)
) AS "grid";
--> statement-breakpoint
-- Rows of these tables are updated over and over: room in the page lets an update stay off the indexes.
ALTER TABLE "orders" SET (fillfactor = 80);
--> statement-breakpoint
ALTER TABLE "positions" SET (fillfactor = 70);
--> statement-breakpoint
ALTER TABLE "balances" SET (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "market_totals" SET (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "last_prices" SET (fillfactor = 50);
--> statement-breakpoint
ALTER TABLE "projector_cursors" SET (fillfactor = 50);
