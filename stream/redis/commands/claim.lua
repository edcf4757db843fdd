-- Finds out whether a request is the first with its bytes, and claims it if so.
-- A record is a hash: `answer` once there is one, until then its `owner` and `untilMs`, when the owner's claim ends.
-- KEYS: 1 record
-- ARGV: 1 who asks, 2 how long the claim holds, 3 how long the record is kept (both ms)
-- Returns {'new'}; {'resumed'} when somebody's claim has ended without an answer; {'running'} while it holds; or
--         {'answered', answer}.
local answer = redis.call('HGET', KEYS[1], 'answer')
if answer then return {'answered', answer} end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local untilMs = redis.call('HGET', KEYS[1], 'untilMs')
if untilMs and tonumber(untilMs) > now then return {'running'} end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'untilMs', now + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if untilMs then return {'resumed'} end
return {'new'}
