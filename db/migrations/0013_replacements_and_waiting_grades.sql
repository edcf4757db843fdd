ALTER TABLE "orders" ADD COLUMN "replaces" uuid;--> statement-breakpoint
-- The grades that wait are in the list of approvals too.
INSERT INTO "approvals" ("approval_id", "subject", "action", "status", "requested_by", "requested_ts")
	SELECT "settlement_id", "market_id", jsonb_build_object('action', 'market.grade', 'settlementId', "settlement_id", 'asked', '{}'::jsonb),
		"status", "requested_by", "requested_ts"
	FROM "settlements" WHERE "status" = 'PENDING_APPROVAL';
