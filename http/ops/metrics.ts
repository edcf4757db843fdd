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
    labelNames: ["name", "route", "status"],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly failures = new Counter({
    name: "overround_http_failures_total",
    help: "Requests that ended with 5xx, by route",
    labelNames: ["name", "route"],
    registers: [this.registry],
  });

  /** Number of requests that were answered since the start. */
  answered = 0;

  /** `name` labels the figures of this process: gateways that share a port are scraped in turn. */
  constructor(private readonly name: string) {
    collectDefaultMetrics({ register: this.registry, labels: { name } });
  }

  /** Counts and measures an answered request. */
  observe(route: string, status: number, ms: number): void {
    this.answered += 1;
    this.requests.observe({ name: this.name, route, status: String(status) }, ms / 1_000);
    if (status >= 500) this.failures.inc({ name: this.name, route });
  }

  /** Registers the figures that the processes of all roles report, by role, name and process. */
  processes(read: () => readonly ProcessReport[]): void {
    for (const [figure, help] of Object.entries(FIGURES) as [keyof typeof FIGURES, string][]) {
      new Gauge({
        name: `overround_process_${figure}`,
        help,
        labelNames: ["role", "name", "process"],
        registers: [this.registry],
        collect() {
          this.reset();
          for (const { role, name, process, figures } of read()) {
            const value = figures[figure];
            if (value !== undefined) this.set({ role, name, process }, value);
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
