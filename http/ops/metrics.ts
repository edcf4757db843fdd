/** Metrics of a gateway for Prometheus. */

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { FIGURES, type ProcessReport } from "../../stream/services/process-reports.js";

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Registry of the metrics, and the counters of requests. */
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

  /** Counts and measures an answered request. */
  observe(route: string, status: number, ms: number): void {
    this.requests.observe({ route, status: String(status) }, ms / 1_000);
    if (status >= 500) this.failures.inc({ route });
  }

  /** Registers the figures that the processes of all roles report, by role and process. */
  processes(read: () => readonly ProcessReport[]): void {
    for (const [name, help] of Object.entries(FIGURES) as [keyof typeof FIGURES, string][]) {
      new Gauge({
        name: `overround_process_${name}`,
        help,
        labelNames: ["role", "process"],
        registers: [this.registry],
        collect() {
          this.reset();
          for (const { role, process, figures } of read()) {
            const figure = figures[name];
            if (figure !== undefined) this.set({ role, process }, figure);
          }
        },
      });
    }
  }

  /** Registers a gauge whose value is read at each scrape. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      async collect() {
        this.set(await read());
      },
    });
  }
}
