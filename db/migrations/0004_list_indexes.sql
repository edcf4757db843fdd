DROP INDEX "orders_open";--> statement-breakpoint
CREATE INDEX "events_underway" ON "events" USING btree ("starts_ts","event_id") WHERE status in ('OPEN_PREGAME', 'CLOSED_PREGAME', 'OPEN_INGAME', 'DELAYED');--> statement-breakpoint
CREATE INDEX "strike_requests_waiting" ON "strike_requests" USING btree ("requested_ts","request_id") WHERE status = 'PENDING';--> statement-breakpoint
CREATE INDEX "fills_market" ON "fills" USING btree ("wallet","market_id","ts","place");--> statement-breakpoint
CREATE INDEX "orders_market" ON "orders" USING btree ("wallet","market_id","ts","place");--> statement-breakpoint
CREATE INDEX "orders_open" ON "orders" USING btree ("wallet","ts","place") WHERE status in ('PENDING', 'OPEN');