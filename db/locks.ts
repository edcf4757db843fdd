/** Ids of the advisory locks in this database. The numbers are arbitrary but must differ from each other. */

/** Held while migrations run, so that processes that start together apply each migration once. */
export const MIGRATION_LOCK = 7_106_001;

/** Held by the projector that writes the read model, for as long as its connection lives. */
export const PROJECTOR_LOCK = 7_106_002;
