-- Records the heartbeat of a worker, by the clock of this server, and removes the workers without one.
-- KEYS: 1 workers
-- ARGV: 1 worker, 2 lease in ms
-- Returns the live workers.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now - tonumber(ARGV[2])))
return redis.call('ZRANGE', KEYS[1], 0, -1)
