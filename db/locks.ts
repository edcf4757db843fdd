/** Ids of the advisory locks in this database. The numbers are arbitrary but must differ from each other. */

/** Lock of a running migration, so that processes that start together apply each migration once. */
export const MIGRATION_LOCK = 7_106_001;

/**
 * Lock of the projectors. Each holds it in shared mode, by its connection. The build before shares holds it alone, so it
 * never writes beside a projector of this build.
 */
export const PROJECTOR_LOCK = 7_106_002;

/** Number of groups of actors that projectors share. The lock of a group is the pair of `PROJECTOR_LOCK` and its number. */
export const PROJECTOR_GROUPS = 16;

/** Lock of the build of the index for searches, so that one process builds it at a time. */
export const SEARCH_INDEX_LOCK = 7_106_003;
