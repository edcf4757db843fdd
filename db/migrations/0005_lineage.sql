CREATE TABLE "reconciliations" (
	"reconciliation_id" bigserial PRIMARY KEY NOT NULL,
	"ts" bigint NOT NULL,
	"actor" text NOT NULL,
	"seq" bigint NOT NULL,
	"lost_seq" bigint NOT NULL,
	"new_seq" bigint NOT NULL,
	"removed" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "fee_schedules" ADD COLUMN "seq" bigint;--> statement-breakpoint
ALTER TABLE "trades" ADD COLUMN "seq" bigint;--> statement-breakpoint
ALTER TABLE "entries" ADD COLUMN "seq" bigint;--> statement-breakpoint
ALTER TABLE "fills" ADD COLUMN "seq" bigint;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "seq" bigint;--> statement-breakpoint
ALTER TABLE "projector_cursors" ADD COLUMN "lineage" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "projector_cursors" ADD COLUMN "next_place" bigint;--> statement-breakpoint
ALTER TABLE "projector_cursors" ADD COLUMN "placed_seq" bigint;--> statement-breakpoint
ALTER TABLE "transfers" ADD COLUMN "seq" bigint;--> statement-breakpoint
CREATE INDEX "reconciliations_ts" ON "reconciliations" USING btree ("ts");