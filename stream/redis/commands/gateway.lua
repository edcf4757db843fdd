-- Tells that a gateway lives, by this server's clock, and which wallet's orders are to go with it.
-- KEYS: 1 gateways, 2 the gateway's armed wallets
-- ARGV: 1 gateway, 2 "join" or "stay", 3 and 4 a wallet to arm and its trader (absent: none)
-- Returns 1, or 0 when the gateway was given up: nothing is armed then.
if ARGV[2] == 'stay' and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
if ARGV[3] then redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
return 1
