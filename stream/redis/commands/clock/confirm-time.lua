-- Confirms the held difference, if there is one: engine time follows the clock of this server.
-- KEYS: 1 record of engine time
-- ARGV: 1 time in ms for which the record of a larger jump stays
-- Returns 1, or 0 when nothing is held.
local held = redis.call('HGET', KEYS[1], 'held') or '0'
if held == '0' then return 0 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HDEL', KEYS[1], 'held', 'engine')
redis.call('HINCRBY', KEYS[1], 'confirmed', 1)
local at, size = string.match(redis.call('HGET', KEYS[1], 'last') or '', '^(%d+) (%-?%d+)$')
local isLarger = at and now - tonumber(at) < tonumber(ARGV[1]) and math.abs(tonumber(size)) > math.abs(tonumber(held))
if not isLarger then redis.call('HSET', KEYS[1], 'last', string.format('%.0f', now) .. ' ' .. held) end
return 1
