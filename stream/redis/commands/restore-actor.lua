-- Puts the snapshot of a removed actor back, and publishes a notification, so that the owner runs its messages.
-- KEYS: 1 head, 2 latest snapshot, 3 previous snapshot, 4 parts, 5 actors, 6 wanted actors, 7 notifications of commands in the
--       commit group, 8 those of the partition
-- ARGV: 1 options of the notification, 2 partition, 3 actor, 4 seq, 5 cursor, 6 hash, 7 body, 8 hashes of the parts that the
--       body names, each with a space after it, then the hash and the body of each part
-- Returns 1, or 0 when the actor is not removed, or was removed with another snapshot.
if redis.call('HGET', KEYS[1], 'removed') ~= ARGV[6] then return 0 end
-- A late write of its last owner may have left something.
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
redis.call('HSET', KEYS[2], 'seq', ARGV[4], 'cursor', ARGV[5], 'hash', ARGV[6], 'body', ARGV[7], 'parts', ARGV[8])
for i = 9, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
redis.call('HDEL', KEYS[1], 'removed')
redis.call('HSET', KEYS[1], 'snapshot', ARGV[4])
redis.call('SADD', KEYS[5], ARGV[3])
redis.call('SREM', KEYS[6], ARGV[3])
local records = newRecords(ARGV[1])
addRecord(records, KEYS[8], ARGV[2], ARGV[3], '', '')
notify(records, KEYS[7])
return 1
