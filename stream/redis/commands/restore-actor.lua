-- Puts the snapshot of a removed actor back, and publishes a notification, so that the owner runs its messages.
-- KEYS: 1 head, 2 latest snapshot, 3 previous snapshot, 4 parts, 5 actors, 6 wanted actors, 7 notifications of commands in the
--       commit group, 8 those of the partition
-- ARGV: 1 partition, 2 actor, 3 seq, 4 cursor, 5 hash, 6 body, 7 hashes of the parts that the body names, each with a
--       space after it, then the hash and the body of each part
-- Returns 1, or 0 when the actor is not removed, or was removed with another snapshot.
if redis.call('HGET', KEYS[1], 'removed') ~= ARGV[5] then return 0 end
-- A late write of its last owner may have left something.
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
redis.call('HSET', KEYS[2], 'seq', ARGV[3], 'cursor', ARGV[4], 'hash', ARGV[5], 'body', ARGV[6], 'parts', ARGV[7])
for i = 8, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
redis.call('HDEL', KEYS[1], 'removed')
redis.call('HSET', KEYS[1], 'snapshot', ARGV[3])
redis.call('SADD', KEYS[5], ARGV[2])
redis.call('SREM', KEYS[6], ARGV[2])
local records = newRecords(-1)
addRecord(records, KEYS[8], ARGV[1], ARGV[2], '', '')
notify(records, KEYS[7])
return 1
