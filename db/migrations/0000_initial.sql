CREATE TABLE "audit_log" (
	"audit_id" bigserial PRIMARY KEY NOT NULL,
	"ts" bigint NOT NULL,
	"operator_id" uuid NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"before" jsonb,
	"after" jsonb,
	"request_id" text
);
--> statement-breakpoint
CREATE TABLE "device_locations" (
	"trader_id" uuid PRIMARY KEY NOT NULL,
	"failed" boolean NOT NULL,
	"region" text,
	"latitude" double precision,
	"longitude" double precision,
	"accuracy_metres" double precision,
	"ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "keys" (
	"key_id" uuid PRIMARY KEY NOT NULL,
	"trader_id" uuid NOT NULL,
	"subaccount_id" uuid,
	"scope" text NOT NULL,
	"algorithm" text NOT NULL,
	"public_key_pem" text NOT NULL,
	"public_key_der" "bytea" NOT NULL,
	"fingerprint" text NOT NULL,
	"name" text NOT NULL,
	"created_ts" bigint NOT NULL,
	"last_used_ts" bigint,
	"expires_ts" bigint,
	"revoked_ts" bigint
);
--> statement-breakpoint
CREATE TABLE "revoked_tokens" (
	"token_id" text PRIMARY KEY NOT NULL,
	"expires_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "subaccounts" (
	"subaccount_id" uuid PRIMARY KEY NOT NULL,
	"trader_id" uuid NOT NULL,
	"label" text NOT NULL,
	"created_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "traders" (
	"trader_id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"password_hash" text NOT NULL,
	"role" text NOT NULL,
	"kyc" text NOT NULL,
	"state" text NOT NULL,
	"state_reason" text,
	"created_ts" bigint NOT NULL,
	"updated_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "competitors" (
	"competitor_id" uuid PRIMARY KEY NOT NULL,
	"league" text NOT NULL,
	"name" text NOT NULL,
	"short_name" text,
	"symbol" text,
	"mascot" text
);
--> statement-breakpoint
CREATE TABLE "event_actions" (
	"action_id" bigserial PRIMARY KEY NOT NULL,
	"event_id" uuid NOT NULL,
	"action" text NOT NULL,
	"created_ts" bigint NOT NULL,
	"done_ts" bigint
);
--> statement-breakpoint
CREATE TABLE "events" (
	"event_id" uuid PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"sport" text NOT NULL,
	"league" text NOT NULL,
	"description" text NOT NULL,
	"starts_ts" bigint NOT NULL,
	"visible" boolean DEFAULT true NOT NULL,
	"status" text NOT NULL,
	"created_ts" bigint NOT NULL,
	"updated_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "games" (
	"game_id" uuid PRIMARY KEY NOT NULL,
	"event_id" uuid NOT NULL,
	"home_team_id" uuid NOT NULL,
	"away_team_id" uuid NOT NULL,
	CONSTRAINT "games_eventId_unique" UNIQUE("event_id")
);
--> statement-breakpoint
CREATE TABLE "leagues" (
	"name" text PRIMARY KEY NOT NULL,
	"sport" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "market_types" (
	"name" text PRIMARY KEY NOT NULL,
	"qa_only" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "players" (
	"player_id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"full_name" text NOT NULL,
	"position" text,
	"competitor_id" uuid
);
--> statement-breakpoint
CREATE TABLE "sports" (
	"name" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tick_tables" (
	"version" serial PRIMARY KEY NOT NULL,
	"prices" smallint[] NOT NULL,
	"published_ts" bigint NOT NULL,
	"published_by" uuid
);
--> statement-breakpoint
CREATE TABLE "fee_schedules" (
	"market_id" uuid NOT NULL,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"fee_coefficient_ppm" integer NOT NULL,
	"fee_maker_credit_ppm" integer NOT NULL,
	"fee_charged" text NOT NULL,
	CONSTRAINT "fee_schedules_market_id_ts_place_pk" PRIMARY KEY("market_id","ts","place")
);
--> statement-breakpoint
CREATE TABLE "last_prices" (
	"market_id" uuid NOT NULL,
	"currency" text NOT NULL,
	"outcome" smallint NOT NULL,
	"price" smallint NOT NULL,
	"ts" bigint NOT NULL,
	CONSTRAINT "last_prices_market_id_currency_outcome_pk" PRIMARY KEY("market_id","currency","outcome")
);
--> statement-breakpoint
CREATE TABLE "market_totals" (
	"market_id" uuid NOT NULL,
	"currency" text NOT NULL,
	"minted_contracts" bigint NOT NULL,
	"escrow" bigint NOT NULL,
	"booked" bigint NOT NULL,
	CONSTRAINT "market_totals_market_id_currency_pk" PRIMARY KEY("market_id","currency")
);
--> statement-breakpoint
CREATE TABLE "markets" (
	"market_id" uuid PRIMARY KEY NOT NULL,
	"event_id" uuid NOT NULL,
	"market_type" text NOT NULL,
	"description" text NOT NULL,
	"strike" text,
	"player_id" uuid,
	"voids" text NOT NULL,
	"fee_coefficient_ppm" integer NOT NULL,
	"fee_maker_credit_ppm" integer NOT NULL,
	"fee_charged" text NOT NULL,
	"live_delay_ms" integer NOT NULL,
	"ticks" smallint[] NOT NULL,
	"status" text NOT NULL,
	"live" boolean NOT NULL,
	"paused" boolean NOT NULL,
	"grade" jsonb,
	"settlement_id" uuid,
	"remediating" boolean NOT NULL,
	"settled_ts" bigint,
	"created_ts" bigint NOT NULL,
	"updated_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "outcomes" (
	"outcome_id" uuid PRIMARY KEY NOT NULL,
	"market_id" uuid NOT NULL,
	"outcome" smallint NOT NULL,
	"name" text NOT NULL,
	"competitor_id" uuid,
	"status" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settlements" (
	"settlement_id" uuid PRIMARY KEY NOT NULL,
	"market_id" uuid NOT NULL,
	"grade" jsonb NOT NULL,
	"status" text NOT NULL,
	"requested_by" uuid NOT NULL,
	"requested_ts" bigint NOT NULL,
	"approved_by" uuid,
	"approved_ts" bigint
);
--> statement-breakpoint
CREATE TABLE "trades" (
	"market_id" uuid NOT NULL,
	"currency" text NOT NULL,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"trade_id" uuid NOT NULL,
	"match_id" uuid NOT NULL,
	"outcome" smallint NOT NULL,
	"price" smallint NOT NULL,
	"qty" integer NOT NULL,
	CONSTRAINT "trades_market_id_currency_ts_place_pk" PRIMARY KEY("market_id","currency","ts","place")
);
--> statement-breakpoint
CREATE TABLE "balances" (
	"wallet" uuid NOT NULL,
	"currency" text NOT NULL,
	"total" bigint NOT NULL,
	"reserved" bigint NOT NULL,
	"updated_ts" bigint NOT NULL,
	CONSTRAINT "balances_wallet_currency_pk" PRIMARY KEY("wallet","currency")
);
--> statement-breakpoint
CREATE TABLE "entries" (
	"wallet" uuid NOT NULL,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"transaction_id" uuid NOT NULL,
	"counterparty" text NOT NULL,
	"kind" text NOT NULL,
	"currency" text NOT NULL,
	"amount" bigint NOT NULL,
	"ref" text NOT NULL,
	"client_ref" text,
	CONSTRAINT "entries_wallet_ts_place_pk" PRIMARY KEY("wallet","ts","place")
);
--> statement-breakpoint
CREATE TABLE "entry_totals" (
	"shard" smallint NOT NULL,
	"currency" text NOT NULL,
	"kind" text NOT NULL,
	"side" text NOT NULL,
	"amount" bigint NOT NULL,
	CONSTRAINT "entry_totals_shard_currency_kind_side_pk" PRIMARY KEY("shard","currency","kind","side")
);
--> statement-breakpoint
CREATE TABLE "fills" (
	"wallet" uuid NOT NULL,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"fill_id" uuid NOT NULL,
	"match_id" uuid NOT NULL,
	"order_id" uuid NOT NULL,
	"client_id" text,
	"market_id" uuid NOT NULL,
	"outcome" smallint NOT NULL,
	"currency" text NOT NULL,
	"price" smallint NOT NULL,
	"qty" integer NOT NULL,
	"cost" bigint NOT NULL,
	"payout" bigint NOT NULL,
	"fee" bigint NOT NULL,
	"credit" bigint NOT NULL,
	"taker" boolean NOT NULL,
	"wash" boolean NOT NULL,
	CONSTRAINT "fills_wallet_ts_place_pk" PRIMARY KEY("wallet","ts","place")
);
--> statement-breakpoint
CREATE TABLE "orders" (
	"order_id" uuid PRIMARY KEY NOT NULL,
	"wallet" uuid NOT NULL,
	"trader_id" uuid NOT NULL,
	"market_id" uuid NOT NULL,
	"outcome" smallint NOT NULL,
	"currency" text NOT NULL,
	"price" smallint NOT NULL,
	"qty" integer NOT NULL,
	"filled" integer NOT NULL,
	"remaining" integer NOT NULL,
	"tif" text NOT NULL,
	"status" text NOT NULL,
	"reason" text,
	"client_id" text,
	"group_id" text,
	"expires_ts" bigint,
	"ts" bigint NOT NULL,
	"place" bigint NOT NULL,
	"updated_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "positions" (
	"wallet" uuid NOT NULL,
	"market_id" uuid NOT NULL,
	"currency" text NOT NULL,
	"outcome" smallint NOT NULL,
	"qty" integer NOT NULL,
	"cost" bigint NOT NULL,
	"updated_ts" bigint NOT NULL,
	CONSTRAINT "positions_wallet_market_id_currency_outcome_pk" PRIMARY KEY("wallet","market_id","currency","outcome")
);
--> statement-breakpoint
CREATE TABLE "projector_cursors" (
	"actor" text PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transfers" (
	"transfer_id" uuid PRIMARY KEY NOT NULL,
	"trader_id" uuid NOT NULL,
	"wallet" uuid NOT NULL,
	"direction" text NOT NULL,
	"amount" bigint NOT NULL,
	"status" text NOT NULL,
	"available" bigint,
	"client_transfer_id" text,
	"ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "wallets" (
	"wallet" uuid PRIMARY KEY NOT NULL,
	"trader_id" uuid NOT NULL,
	"shard" smallint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "device_locations" ADD CONSTRAINT "device_locations_trader_id_traders_trader_id_fk" FOREIGN KEY ("trader_id") REFERENCES "public"."traders"("trader_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "keys" ADD CONSTRAINT "keys_trader_id_traders_trader_id_fk" FOREIGN KEY ("trader_id") REFERENCES "public"."traders"("trader_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "keys" ADD CONSTRAINT "keys_subaccount_id_subaccounts_subaccount_id_fk" FOREIGN KEY ("subaccount_id") REFERENCES "public"."subaccounts"("subaccount_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subaccounts" ADD CONSTRAINT "subaccounts_trader_id_traders_trader_id_fk" FOREIGN KEY ("trader_id") REFERENCES "public"."traders"("trader_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "competitors" ADD CONSTRAINT "competitors_league_leagues_name_fk" FOREIGN KEY ("league") REFERENCES "public"."leagues"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "event_actions" ADD CONSTRAINT "event_actions_event_id_events_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."events"("event_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_sport_sports_name_fk" FOREIGN KEY ("sport") REFERENCES "public"."sports"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_league_leagues_name_fk" FOREIGN KEY ("league") REFERENCES "public"."leagues"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "games" ADD CONSTRAINT "games_event_id_events_event_id_fk" FOREIGN KEY ("event_id") REFERENCES "public"."events"("event_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "games" ADD CONSTRAINT "games_home_team_id_competitors_competitor_id_fk" FOREIGN KEY ("home_team_id") REFERENCES "public"."competitors"("competitor_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "games" ADD CONSTRAINT "games_away_team_id_competitors_competitor_id_fk" FOREIGN KEY ("away_team_id") REFERENCES "public"."competitors"("competitor_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "leagues" ADD CONSTRAINT "leagues_sport_sports_name_fk" FOREIGN KEY ("sport") REFERENCES "public"."sports"("name") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "players" ADD CONSTRAINT "players_competitor_id_competitors_competitor_id_fk" FOREIGN KEY ("competitor_id") REFERENCES "public"."competitors"("competitor_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outcomes" ADD CONSTRAINT "outcomes_market_id_markets_market_id_fk" FOREIGN KEY ("market_id") REFERENCES "public"."markets"("market_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_subject" ON "audit_log" USING btree ("subject","audit_id");--> statement-breakpoint
CREATE UNIQUE INDEX "keys_live_fingerprint" ON "keys" USING btree ("fingerprint") WHERE revoked_ts is null;--> statement-breakpoint
CREATE UNIQUE INDEX "keys_live_management" ON "keys" USING btree ("trader_id") WHERE revoked_ts is null and scope = 'management';--> statement-breakpoint
CREATE UNIQUE INDEX "keys_live_trading" ON "keys" USING btree ("subaccount_id") WHERE revoked_ts is null and scope = 'trading';--> statement-breakpoint
CREATE INDEX "keys_trader" ON "keys" USING btree ("trader_id","created_ts");--> statement-breakpoint
CREATE INDEX "keys_subaccount" ON "keys" USING btree ("subaccount_id","created_ts");--> statement-breakpoint
CREATE INDEX "revoked_tokens_expires" ON "revoked_tokens" USING btree ("expires_ts");--> statement-breakpoint
CREATE INDEX "subaccounts_trader" ON "subaccounts" USING btree ("trader_id","created_ts");--> statement-breakpoint
CREATE UNIQUE INDEX "traders_email" ON "traders" USING btree ("email");--> statement-breakpoint
CREATE INDEX "traders_created" ON "traders" USING btree ("created_ts","trader_id");--> statement-breakpoint
CREATE UNIQUE INDEX "competitors_league_name" ON "competitors" USING btree ("league","name");--> statement-breakpoint
CREATE UNIQUE INDEX "event_actions_unfinished" ON "event_actions" USING btree ("event_id") WHERE done_ts is null;--> statement-breakpoint
CREATE INDEX "events_starts" ON "events" USING btree ("starts_ts","event_id");--> statement-breakpoint
CREATE INDEX "events_status_starts" ON "events" USING btree ("status","starts_ts","event_id");--> statement-breakpoint
CREATE INDEX "markets_event" ON "markets" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "markets_created" ON "markets" USING btree ("created_ts","market_id");--> statement-breakpoint
CREATE INDEX "markets_open" ON "markets" USING btree ("market_id") WHERE status = 'OPEN';--> statement-breakpoint
CREATE INDEX "markets_settled" ON "markets" USING btree ("settled_ts","market_id") WHERE settled_ts is not null;--> statement-breakpoint
CREATE INDEX "markets_unsettled" ON "markets" USING btree ("market_id") WHERE settlement_id is not null and (status <> 'SETTLED' or remediating);--> statement-breakpoint
CREATE UNIQUE INDEX "outcomes_market_outcome" ON "outcomes" USING btree ("market_id","outcome");--> statement-breakpoint
CREATE UNIQUE INDEX "settlements_pending" ON "settlements" USING btree ("market_id") WHERE status = 'PENDING_APPROVAL';--> statement-breakpoint
CREATE INDEX "settlements_market" ON "settlements" USING btree ("market_id","requested_ts");--> statement-breakpoint
CREATE INDEX "entries_kind" ON "entries" USING btree ("wallet","kind","ts","place") WHERE kind not in ('FILL', 'FEE', 'MAKER_CREDIT');--> statement-breakpoint
CREATE INDEX "fills_order" ON "fills" USING btree ("order_id");--> statement-breakpoint
CREATE INDEX "orders_wallet" ON "orders" USING btree ("wallet","ts","place");--> statement-breakpoint
CREATE INDEX "orders_open" ON "orders" USING btree ("wallet") WHERE status in ('PENDING', 'OPEN');--> statement-breakpoint
CREATE INDEX "orders_client" ON "orders" USING btree ("wallet","client_id") WHERE client_id is not null;--> statement-breakpoint
CREATE INDEX "transfers_client" ON "transfers" USING btree ("trader_id","client_transfer_id");