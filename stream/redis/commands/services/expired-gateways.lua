-- Expires the gateways without a heartbeat for the time of a lease. A slow gateway cannot renew an expired lease.
-- KEYS: 1 gateways, 2 expired gateways
-- ARGV: 1 lease in ms
-- Returns all expired gateways whose armed wallets are not canceled yet.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local limit = '(' .. string.format('%.0f', now - tonumber(ARGV[1]))
for _, gateway in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', limit)) do
  redis.call('ZREM', KEYS[1], gateway)
  redis.call('SADD', KEYS[2], gateway)
end
return redis.call('SMEMBERS', KEYS[2])
