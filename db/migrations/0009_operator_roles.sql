CREATE TABLE "approvals" (
	"approval_id" uuid PRIMARY KEY NOT NULL,
	"subject" text NOT NULL,
	"action" jsonb NOT NULL,
	"status" text NOT NULL,
	"requested_by" uuid NOT NULL,
	"requested_ts" bigint NOT NULL,
	"decided_by" uuid,
	"decided_ts" bigint
);
--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "operator_role" text;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "sessions_ended_ts" bigint;--> statement-breakpoint
CREATE INDEX "approvals_requested" ON "approvals" USING btree ("requested_ts","approval_id");--> statement-breakpoint
CREATE INDEX "traders_operators" ON "traders" USING btree ("created_ts","trader_id") WHERE role = 'operator';--> statement-breakpoint
-- Every operator could do everything before.
UPDATE "traders" SET "operator_role" = 'owner' WHERE "role" = 'operator';--> statement-breakpoint
CREATE FUNCTION "audit_log_refuse"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the audit log only takes new records' USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_log"
	FOR EACH STATEMENT EXECUTE FUNCTION "audit_log_refuse"();
