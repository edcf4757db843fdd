/** Tells every gateway, this one first, that reference data changed. */

import type { Reference, ReferenceKind } from "./reference.js";

/** Where changes are announced to the other gateways. */
export interface Announcements {
  publish(kind: ReferenceKind, id: string): Promise<void>;
}

export class Changes {
  constructor(
    private readonly reference: Reference,
    private readonly announcements: Announcements,
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Drops what this gateway holds at once and tells the others. It does not fail: the change itself is committed, and
   * the caches' time to live bounds what an announcement that was lost leaves behind.
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
