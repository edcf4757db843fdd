-- Reads the clock of this server and the record of engine time, and records what a process knows about both.
-- KEYS: 1 record of engine time, 2 clocks of hosts
-- ARGV: 1 process, 2 engine time in ms ('' when the process sets none), 3 number of confirmations that it has seen, 4 the
--       clock of its host less the clock of this server in ms ('' when they agree)
-- Returns the time in ms, the held difference in ms, the number of confirmations, the engine time that was recorded
-- before ('' for none), and the time in ms and the held difference in ms of the last confirmation ('' before the first).
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local record = redis.call('HMGET', KEYS[1], 'held', 'confirmed', 'engine', 'last')
local held, confirmed = record[1] or '0', record[2] or '0'
if ARGV[2] ~= '' and ARGV[3] == confirmed then redis.call('HSET', KEYS[1], 'engine', ARGV[2]) end
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[4] .. ' ' .. now)
else
  redis.call('HDEL', KEYS[2], ARGV[1])
end
return {now, held, confirmed, record[3] or '', record[4] or ''}
