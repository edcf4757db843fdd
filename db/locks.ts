/** Ids of the advisory locks in this database. The numbers are arbitrary but must differ from each other. */

/** Lock of a running migration, so that processes that start together apply each migration once. */
export const MIGRATION_LOCK = 7_106_001;

/** Lock of the projector that writes the read model, held by its connection. */
export const PROJECTOR_LOCK = 7_106_002;
