CREATE TABLE "market_transitions" (
	"market_id" uuid NOT NULL,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"seq" bigint,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	CONSTRAINT "market_transitions_market_id_ts_place_pk" PRIMARY KEY("market_id","ts","place")
);
