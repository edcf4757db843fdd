-- Stores parts of a snapshot, each under its hash. Runs also when the memory is full, because the log is trimmed after a
-- snapshot.
-- KEYS: 1 lease, 2 parts
-- ARGV: 1 epoch; then per part: hash, body
-- Returns 'ok' or 'fenced' (the lease has another epoch).
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'fenced' end
for p = 2, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[p], ARGV[p + 1]) end
return 'ok'
