-- Renews the lease of a gateway, by the clock of this server, and arms a wallet.
-- KEYS: 1 gateways, 2 armed wallets of the gateway
-- ARGV: 1 gateway, 2 'join' for a new gateway or 'stay' for a renewal, 3 and 4 a wallet to arm and its trader (absent:
--       none)
-- Returns 1, or 0 when the lease has expired; no wallet is armed then.
if ARGV[2] == 'stay' and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
if ARGV[3] then redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
return 1
