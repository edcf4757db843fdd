/** Publication of changes of reference data to every gateway, this one first. */

import type { Reference, ReferenceKind } from "./reference.js";

/** Channel to the other gateways. */
export interface Announcements {
  publish(kind: ReferenceKind, id: string): Promise<void>;
}

/** Publishes changes that are committed in Postgres. */
export class Changes {
  constructor(
    private readonly reference: Reference,
    private readonly announcements: Announcements,
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Invalidates the change in the caches of this gateway at once, then in those of the others. It does not throw: the
   * change is committed, and the time to live of the caches bounds the effect of a lost announcement.
   */
  async publish(kind: ReferenceKind, id: string): Promise<void> {
    this.reference.invalidate(kind, id);
    try {
      await this.announcements.publish(kind, id);
    } catch (error) {
      this.onError(error);
    }
  }
}
