-- Claims a request, unless it is answered or claimed.
-- A record is a hash. It has `answer`, or else the `owner` of the claim and `untilMs`, the end of the claim (Unix ms).
-- KEYS: 1 record
-- ARGV: 1 the new owner, 2 duration of the claim in ms, 3 time to keep the record in ms
-- Returns {'new'} for the first claim, {'resumed'} after a claim that ended without an answer, {'running'} while
--         another claim holds, or {'answered', answer}.
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
