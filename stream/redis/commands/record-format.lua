-- Replaces the record of the active format, unless another process has replaced it.
-- KEYS: 1 record of the active format
-- ARGV: 1 the record as it was read, '' for none, 2 the new record
-- Returns nothing.
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
