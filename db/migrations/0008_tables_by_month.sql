-- Partitions orders, fills, entries and trades by month. The tables that exist become the first partitions, with their rows
-- in place. `db/partitions/prepare.ts` has added the column `ended_ts` and validated constraints before, so that Postgres
-- reads no row under these locks. The locks are taken in the order in which the projector writes.
LOCK TABLE "trades", "orders", "fills", "entries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN IF NOT EXISTS "ended_ts" bigint DEFAULT -1 NOT NULL;--> statement-breakpoint

ALTER TABLE "orders" RENAME TO "orders_first";--> statement-breakpoint
ALTER INDEX "orders_pkey" RENAME TO "orders_first_pkey";--> statement-breakpoint
ALTER INDEX "orders_wallet" RENAME TO "orders_first_wallet";--> statement-breakpoint
ALTER INDEX "orders_market" RENAME TO "orders_first_market";--> statement-breakpoint
ALTER INDEX "orders_open" RENAME TO "orders_first_open";--> statement-breakpoint
ALTER INDEX "orders_client" RENAME TO "orders_first_client";--> statement-breakpoint
CREATE TABLE "orders" (LIKE "orders_first" INCLUDING DEFAULTS) PARTITION BY RANGE ("ended_ts");--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "ended_ts" SET DEFAULT 0;--> statement-breakpoint
CREATE INDEX "orders_wallet" ON "orders" USING btree ("wallet","ts","place");--> statement-breakpoint
CREATE INDEX "orders_market" ON "orders" USING btree ("wallet","market_id","ts","place");--> statement-breakpoint
CREATE INDEX "orders_open" ON "orders" USING btree ("wallet","ts","place") WHERE status in ('PENDING', 'OPEN');--> statement-breakpoint
CREATE INDEX "orders_client" ON "orders" USING btree ("wallet","client_id") WHERE client_id is not null;--> statement-breakpoint
ALTER TABLE "orders" ATTACH PARTITION "orders_first" FOR VALUES FROM (MINVALUE) TO (0);--> statement-breakpoint
ALTER TABLE "orders_first" DROP CONSTRAINT IF EXISTS "orders_first";--> statement-breakpoint
CREATE TABLE "orders_live" PARTITION OF "orders" (PRIMARY KEY ("order_id")) FOR VALUES FROM (0) TO (1);--> statement-breakpoint
-- Leads a list of ended orders past the open ones. Only a projector of the build before leaves ended orders there.
CREATE INDEX "orders_live_ended" ON "orders_live" USING btree ("wallet","ts","place") WHERE status not in ('PENDING', 'OPEN');--> statement-breakpoint
CREATE TABLE "orders_later" PARTITION OF "orders" (PRIMARY KEY ("order_id")) FOR VALUES FROM (1) TO (MAXVALUE);--> statement-breakpoint

ALTER TABLE "fills" RENAME TO "fills_first";--> statement-breakpoint
ALTER INDEX "fills_wallet_ts_place_pk" RENAME TO "fills_first_pkey";--> statement-breakpoint
ALTER INDEX "fills_order" RENAME TO "fills_first_order";--> statement-breakpoint
ALTER INDEX "fills_market" RENAME TO "fills_first_market";--> statement-breakpoint
CREATE TABLE "fills" (
	LIKE "fills_first" INCLUDING DEFAULTS,
	CONSTRAINT "fills_wallet_ts_place_pk" PRIMARY KEY("wallet","ts","place")
) PARTITION BY RANGE ("ts");--> statement-breakpoint
CREATE INDEX "fills_order" ON "fills" USING btree ("order_id");--> statement-breakpoint
CREATE INDEX "fills_market" ON "fills" USING btree ("wallet","market_id","ts","place");--> statement-breakpoint

ALTER TABLE "entries" RENAME TO "entries_first";--> statement-breakpoint
ALTER INDEX "entries_wallet_ts_place_pk" RENAME TO "entries_first_pkey";--> statement-breakpoint
ALTER INDEX "entries_kind" RENAME TO "entries_first_kind";--> statement-breakpoint
CREATE TABLE "entries" (
	LIKE "entries_first" INCLUDING DEFAULTS,
	CONSTRAINT "entries_wallet_ts_place_pk" PRIMARY KEY("wallet","ts","place")
) PARTITION BY RANGE ("ts");--> statement-breakpoint
CREATE INDEX "entries_kind" ON "entries" USING btree ("wallet","kind","ts","place") WHERE kind not in ('FILL', 'FEE', 'MAKER_CREDIT');--> statement-breakpoint

ALTER TABLE "trades" RENAME TO "trades_first";--> statement-breakpoint
ALTER INDEX "trades_market_id_currency_ts_place_pk" RENAME TO "trades_first_pkey";--> statement-breakpoint
CREATE TABLE "trades" (
	LIKE "trades_first" INCLUDING DEFAULTS,
	CONSTRAINT "trades_market_id_currency_ts_place_pk" PRIMARY KEY("market_id","currency","ts","place")
) PARTITION BY RANGE ("ts");--> statement-breakpoint

-- The first partitions end where the validated constraints say; those of a new database end with the next month.
DO $$
DECLARE
	name text;
	bound bigint;
BEGIN
	FOREACH name IN ARRAY ARRAY['fills', 'entries', 'trades'] LOOP
		SELECT substring(pg_get_constraintdef(oid) from '\d+')::bigint INTO bound FROM pg_constraint
			WHERE conrelid = (name || '_first')::regclass AND conname = name || '_first';
		bound := coalesce(bound, extract(epoch from date_trunc('month', now() at time zone 'UTC') + interval '2 months')::bigint * 1000);
		EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', name, name || '_first', bound);
		EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', name || '_first', name || '_first');
		EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (MAXVALUE)', name || '_later', name, bound);
	END LOOP;
END $$;--> statement-breakpoint

-- The readers of a table may still read it under its name.
DO $$
DECLARE
	name text;
	acl record;
BEGIN
	FOREACH name IN ARRAY ARRAY['orders', 'fills', 'entries', 'trades'] LOOP
		FOR acl IN
			SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS grantee
			FROM pg_class, aclexplode(relacl) WHERE oid = (name || '_first')::regclass
		LOOP
			EXECUTE format('GRANT %s ON %I TO %s', acl.privilege_type, name, acl.grantee);
		END LOOP;
	END LOOP;
END $$;
