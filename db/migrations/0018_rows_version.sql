CREATE TABLE "rows_version" (
	"only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"version" integer NOT NULL,
	CONSTRAINT "rows_version_only_row" CHECK ("rows_version"."only_row")
);
--> statement-breakpoint
INSERT INTO "rows_version" ("version") VALUES (1);
