CREATE TABLE "trader_restrictions" (
	"trader_id" uuid PRIMARY KEY NOT NULL,
	"shard" smallint NOT NULL,
	"restriction" text
);
--> statement-breakpoint
ALTER TABLE "subaccounts" ADD COLUMN "closed_ts" bigint;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "self_excluded_until_ts" bigint;--> statement-breakpoint
ALTER TABLE "trades" ADD COLUMN "taker_outcome" smallint;--> statement-breakpoint
ALTER TABLE "trades" ADD COLUMN "taker_price" smallint;--> statement-breakpoint
CREATE INDEX "trader_restrictions_active" ON "trader_restrictions" USING btree ("trader_id") WHERE restriction is not null;--> statement-breakpoint
CREATE INDEX "traders_inactive" ON "traders" USING btree ("trader_id") WHERE state <> 'ACTIVE' or self_excluded_until_ts is not null;