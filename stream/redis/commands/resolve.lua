-- Says what became of a claimed request. The first answer stays; without one, only the owner of the claim is heard.
-- KEYS: 1 record (see claim.lua)
-- ARGV: 1 who speaks, 2 what happened: 'answer' (3 the answer, 4 how long to keep it, ms), 'renew' (3 how long the claim
--       holds from now, ms), 'doubt' (it ended, its effect is not known) or 'nothing' (it had no effect)
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
