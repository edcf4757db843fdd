-- Confirms the held difference: engine time follows the clock of this server.
-- KEYS: 1 record of engine time
-- Returns nothing.
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local held = redis.call('HGET', KEYS[1], 'held') or '0'
redis.call('HDEL', KEYS[1], 'held', 'engine')
redis.call('HINCRBY', KEYS[1], 'confirmed', 1)
redis.call('HSET', KEYS[1], 'last', now .. ' ' .. held)
