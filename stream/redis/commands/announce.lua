-- Records that a role is alive, by the clock of this server, and forgets the roles that have been silent for too long.
-- KEYS: 1 roles, 2 workers, 3 record of the active format
-- ARGV: 1 role, 2 silence after which a role counts as dead, in ms
-- Returns the time in ms, the record, and the live roles; a worker of a build that announces nothing is one of them.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local limit = string.format('%.0f', now - tonumber(ARGV[2]))
-- Live roles announce each second, so where all seem silent for a sixth of this time, the clock may have jumped: each has
-- the time again.
local newest = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or now)
if math.abs(now - newest) > tonumber(ARGV[2]) / 6 then
  for _, role in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], now, role) end
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. limit)
local reply = {now, redis.call('GET', KEYS[3]) or ''}
for _, role in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do reply[#reply + 1] = role end
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], limit, '+inf')) do
  if not string.match(worker, '^%d+:') then reply[#reply + 1] = worker end
end
return reply
