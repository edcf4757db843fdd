-- Takes tokens out of a subject's buckets: out of all of them, or out of none.
-- A bucket refills continuously. Its level is kept in parts of a token, of which a token has as many as its period has
-- microseconds: then every microsecond adds a whole number of parts, and nothing is ever rounded. No key is a full
-- bucket. Levels are not worth a write to the disk, which with `appendfsync always` every request would wait for: they
-- are kept from the append-only file and the replicas, and after a crash all buckets are full. A key outlives its
-- refill by a minute, because its expiry is written.
-- KEYS: one per bucket
-- ARGV: per bucket its capacity and what it gains in a period, in tokens, the period in us, and the cost in tokens (0
--       only looks, less than 0 gives back)
-- Returns 1 or 0 (taken or not), then per bucket the whole tokens left and the ms until its cost is there (0: it is).
redis.set_repl(redis.REPL_NONE)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local levels = {}
local waits = {}
local granted = 1
for i = 1, #KEYS do
  local at = 4 * (i - 1)
  local gain, period, cost = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local full = tonumber(ARGV[at + 1]) * period
  local level = full
  local kept = redis.call('GET', KEYS[i])
  if kept then
    local was, since = string.match(kept, '^(%d+) (%d+)$')
    level = math.min(full, tonumber(was) + math.max(0, now - tonumber(since)) * gain)
  end
  levels[i] = level
  waits[i] = 0
  if cost * period > level then
    waits[i] = math.ceil((cost * period - level) / gain / 1000)
    granted = 0
  end
end
local answer = {granted}
for i = 1, #KEYS do
  local at = 4 * (i - 1)
  local gain, period, cost = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  if granted == 1 and cost ~= 0 then
    local full = tonumber(ARGV[at + 1]) * period
    levels[i] = math.min(full, levels[i] - cost * period)
    if levels[i] == full then
      redis.call('DEL', KEYS[i])
    else
      local untilFull = math.ceil((full - levels[i]) / gain / 1000)
      redis.call('SET', KEYS[i], string.format('%.0f %.0f', levels[i], now), 'PX', untilFull + 60000)
    end
  end
  answer[#answer + 1] = math.floor(levels[i] / period)
  answer[#answer + 1] = waits[i]
end
return answer
