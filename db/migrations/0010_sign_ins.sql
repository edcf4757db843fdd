CREATE TABLE "check_ins" (
	"trader_id" uuid NOT NULL,
	"minute" bigint NOT NULL,
	"failed" boolean NOT NULL,
	"region" text,
	"latitude" double precision,
	"longitude" double precision,
	"accuracy_metres" double precision,
	"ts" bigint NOT NULL,
	CONSTRAINT "check_ins_trader_id_minute_pk" PRIMARY KEY("trader_id","minute")
);
--> statement-breakpoint
CREATE TABLE "known_addresses" (
	"trader_id" uuid NOT NULL,
	"address" text NOT NULL,
	"last_ts" bigint NOT NULL,
	CONSTRAINT "known_addresses_trader_id_address_pk" PRIMARY KEY("trader_id","address")
);
--> statement-breakpoint
DROP INDEX "audit_log_subject";--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "totp_secret" text;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "totp_offer" text;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "totp_step" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "traders" ADD COLUMN "recovery_digests" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "check_ins" ADD CONSTRAINT "check_ins_trader_id_traders_trader_id_fk" FOREIGN KEY ("trader_id") REFERENCES "public"."traders"("trader_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "known_addresses" ADD CONSTRAINT "known_addresses_trader_id_traders_trader_id_fk" FOREIGN KEY ("trader_id") REFERENCES "public"."traders"("trader_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_time" ON "audit_log" USING btree ("ts","audit_id");--> statement-breakpoint
CREATE INDEX "audit_log_of_subject" ON "audit_log" USING btree ("subject","ts","audit_id");--> statement-breakpoint
CREATE INDEX "audit_log_of_operator" ON "audit_log" USING btree ("operator_id","ts","audit_id");--> statement-breakpoint
CREATE INDEX "audit_log_of_action" ON "audit_log" USING btree ("action","ts","audit_id");