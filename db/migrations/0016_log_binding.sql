CREATE TABLE "installation" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"log_id" uuid NOT NULL,
	"bound_ts" bigint NOT NULL,
	CONSTRAINT "installation_only_row" CHECK ("installation"."only_row")
);
