-- Removes an actor that has nothing left to do from the memory, and leaves a tombstone: the head, with the hash of the
-- last snapshot, which is kept elsewhere.
-- KEYS: 1 head, 2 mailbox, 3 deltas, 4 latest snapshot, 5 previous snapshot, 6 parts, 7 actors, 8 deadlines
-- ARGV: 1 actor, 2 hash of the snapshot that is kept elsewhere
-- Returns 'ok', also for an actor that is removed with this snapshot already, or 'busy': it has messages, a deadline,
-- entries to relay or to project, or a later snapshot, or its latest snapshot is not that of its last entry.
local head = redis.call('HMGET', KEYS[1], 'seq', 'relayed', 'projected', 'snapshot', 'removed')
if head[5] then return head[5] == ARGV[2] and 'ok' or 'busy' end
local seq = tonumber(head[1] or '0')
-- A mark may be above the last entry, because the log may have lost entries since.
local marked = math.min(tonumber(head[2] or '0'), tonumber(head[3] or '0'))
if seq == 0 or marked < seq or tonumber(head[4] or '0') ~= seq then return 'busy' end
if redis.call('XLEN', KEYS[2]) > 0 or redis.call('ZSCORE', KEYS[8], ARGV[1]) then return 'busy' end
if redis.call('HGET', KEYS[4], 'hash') ~= ARGV[2] then return 'busy' end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
redis.call('HDEL', KEYS[1], 'snapshot', 'previous', 'window')
redis.call('HSET', KEYS[1], 'removed', ARGV[2])
redis.call('SREM', KEYS[7], ARGV[1])
return 'ok'
