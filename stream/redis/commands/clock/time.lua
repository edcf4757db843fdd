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
  if redis.call('HSET', KEYS[2], ARGV[1], ARGV[4] .. ' ' .. now) == 1 then
    -- A process that has ended removes no record. One that runs writes its own again each second.
    local records = redis.call('HGETALL', KEYS[2])
    for i = 1, #records, 2 do
      local at = tonumber(string.match(records[i + 1], ' (%d+)$'))
      if at == nil or math.abs(tonumber(now) - at) > 60000 then redis.call('HDEL', KEYS[2], records[i]) end
    end
  end
else
  redis.call('HDEL', KEYS[2], ARGV[1])
end
return {now, held, confirmed, record[3] or '', record[4] or ''}
