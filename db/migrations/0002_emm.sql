CREATE TABLE "emm_clients" (
	"client_id" uuid PRIMARY KEY NOT NULL,
	"subaccount_id" uuid NOT NULL,
	"name" text NOT NULL,
	"secret_hash" text NOT NULL,
	"secret_version" integer NOT NULL,
	"created_ts" bigint NOT NULL,
	"rotated_ts" bigint,
	"deleted_ts" bigint
);
--> statement-breakpoint
CREATE TABLE "strike_requests" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"client_id" uuid NOT NULL,
	"market_id" uuid NOT NULL,
	"strike" text NOT NULL,
	"status" text NOT NULL,
	"requested_ts" bigint NOT NULL,
	"decided_ts" bigint,
	"decided_by" uuid,
	"created_market_id" uuid
);
--> statement-breakpoint
ALTER TABLE "emm_clients" ADD CONSTRAINT "emm_clients_subaccount_id_subaccounts_subaccount_id_fk" FOREIGN KEY ("subaccount_id") REFERENCES "public"."subaccounts"("subaccount_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "strike_requests" ADD CONSTRAINT "strike_requests_client_id_emm_clients_client_id_fk" FOREIGN KEY ("client_id") REFERENCES "public"."emm_clients"("client_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "emm_clients_created" ON "emm_clients" USING btree ("created_ts","client_id");--> statement-breakpoint
CREATE UNIQUE INDEX "strike_requests_pending" ON "strike_requests" USING btree ("client_id","market_id","strike") WHERE status = 'PENDING';--> statement-breakpoint
CREATE INDEX "strike_requests_requested" ON "strike_requests" USING btree ("requested_ts","request_id");