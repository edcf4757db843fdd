CREATE TABLE "changelog" (
	"change_id" uuid PRIMARY KEY NOT NULL,
	"title" text NOT NULL,
	"body" text NOT NULL,
	"effective_ts" bigint NOT NULL,
	"created_ts" bigint NOT NULL,
	"created_by" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "geo_publications" (
	"version" serial PRIMARY KEY NOT NULL,
	"restricted_regions" text[] NOT NULL,
	"published_by" uuid NOT NULL,
	"published_ts" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "maintenance_windows" (
	"window_id" uuid PRIMARY KEY NOT NULL,
	"message" text,
	"begun_by" uuid NOT NULL,
	"begun_ts" bigint NOT NULL,
	"ended_by" uuid,
	"ended_ts" bigint
);
--> statement-breakpoint
CREATE TABLE "networks" (
	"cidr" "cidr" NOT NULL,
	"kind" text NOT NULL,
	"region" text,
	CONSTRAINT "networks_cidr_kind_pk" PRIMARY KEY("cidr","kind")
);
--> statement-breakpoint
CREATE INDEX "changelog_effective" ON "changelog" USING btree ("effective_ts","change_id");--> statement-breakpoint
CREATE UNIQUE INDEX "maintenance_windows_current" ON "maintenance_windows" USING btree ((ended_ts is null)) WHERE ended_ts is null;--> statement-breakpoint
CREATE INDEX "maintenance_windows_begun" ON "maintenance_windows" USING btree ("begun_ts");