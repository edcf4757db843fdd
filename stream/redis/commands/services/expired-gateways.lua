-- Expires the gateways without a heartbeat for the time of a lease. A slow gateway cannot renew an expired lease.
-- KEYS: 1 gateways, 2 expired gateways, 3 the checks
-- ARGV: 1 lease in ms, 2 longest time between two checks in ms
-- Returns all expired gateways whose armed wallets are not canceled yet.
--
-- No lease expires before the checks have come in time for as long as a lease. After a stall, a restart or a fail-over of
-- this server, every live gateway has thus had the time to renew its lease.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function text(number) return string.format('%.0f', number) end
-- The clock of this server may have been set back. A lease that was renewed after the present time is renewed now.
for _, gateway in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. text(now), '+inf')) do
  redis.call('ZADD', KEYS[1], now, gateway)
end
local checks = redis.call('HMGET', KEYS[3], 'last', 'since')
local last, since = tonumber(checks[1] or 0), tonumber(checks[2] or 0)
if now < last or now - last > tonumber(ARGV[2]) then since = now end
redis.call('HSET', KEYS[3], 'last', text(now), 'since', text(since))
if now - since >= tonumber(ARGV[1]) then
  local limit = '(' .. text(now - tonumber(ARGV[1]))
  for _, gateway in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', limit)) do
    redis.call('ZREM', KEYS[1], gateway)
    redis.call('SADD', KEYS[2], gateway)
  end
end
return redis.call('SMEMBERS', KEYS[2])
