-- Keeps a feed alive, making it when there is none.
-- KEYS: 1 feed
-- ARGV: 1 ms to live
-- Returns {1 when it had to be made, id of its last message}.
local made = 0
if redis.call('EXISTS', KEYS[1]) == 0 then
  made = 1
  redis.call('XADD', KEYS[1], '0-*', 'b', '')
  redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then return {made, info[i + 1]} end
end
