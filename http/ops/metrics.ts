/** What Prometheus reads of a gateway. */

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export class Metrics {
  readonly registry = new Registry();
  private readonly requests = new Histogram({
    name: "overround_http_request_seconds",
    help: "Time to answer a request, by route and status",
    labelNames: ["route", "status"],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly failures = new Counter({
    name: "overround_http_failures_total",
    help: "Requests that ended with 5xx, by route",
    labelNames: ["route"],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Notes one answered request. */
  observe(route: string, status: number, ms: number): void {
    this.requests.observe({ route, status: String(status) }, ms / 1_000);
    if (status >= 500) this.failures.inc({ route });
  }

  /** A value that is read when Prometheus asks. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }
}
