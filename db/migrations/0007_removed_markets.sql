CREATE TABLE "market_snapshots" (
	"market_id" uuid NOT NULL,
	"hash" text NOT NULL,
	"stored" text NOT NULL,
	CONSTRAINT "market_snapshots_market_id_hash_pk" PRIMARY KEY("market_id","hash")
);
--> statement-breakpoint
CREATE TABLE "removed_markets" (
	"market_id" uuid PRIMARY KEY NOT NULL,
	"hash" text,
	"changed_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "removed_markets_restored" ON "removed_markets" USING btree ("changed_ts") WHERE "removed_markets"."hash" is null;