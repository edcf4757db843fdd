-- Records by how much engine time differs from the clock of this server, unless another process has done so.
-- KEYS: 1 record of engine time
-- ARGV: 1 held difference and 2 number of confirmations that the process has read, 3 new difference in ms
-- Returns 1, or 0 when the record has changed.
local record = redis.call('HMGET', KEYS[1], 'held', 'confirmed')
if (record[1] or '0') ~= ARGV[1] or (record[2] or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'held', ARGV[3])
return 1
