-- Resolves or renews a claim. The first answer stays, whoever gives it. The other outcomes count only from the owner.
-- KEYS: 1 record (see claim.lua)
-- ARGV: 1 owner, 2 outcome: 'answer' (3 the answer, 4 time to keep it in ms), 'renew' (3 duration of the claim from now
--       in ms), 'doubt' (the request ended with an unknown effect) or 'nothing' (the request had no effect)
-- Returns nothing.
if redis.call('HEXISTS', KEYS[1], 'answer') == 1 then return end
if ARGV[2] == 'answer' then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'answer', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return
end
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return end
if ARGV[2] == 'nothing' then
  redis.call('DEL', KEYS[1])
elseif ARGV[2] == 'doubt' then
  redis.call('HSET', KEYS[1], 'untilMs', 0)
else
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 'untilMs', now + tonumber(ARGV[3]))
end
