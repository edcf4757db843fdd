-- Takes tokens from the buckets of a subject: from all of them, or from none.
-- A bucket refills continuously. Its level is stored in parts of a token. A token has as many parts as the period has
-- microseconds, so every microsecond adds a whole number of parts and nothing is rounded. A full bucket has no key.
-- A level is not worth a write to the disk, for which every request would wait with `appendfsync always`. Levels are
-- therefore not written to the append-only file or to replicas, and after a crash all buckets are full. A key outlives
-- its refill by a minute, because an expiry is written to the append-only file.
-- KEYS: one per bucket
-- ARGV: per bucket its capacity in tokens, its gain per period in tokens, the period in us, the cost in tokens (0
--       reads the level, a negative cost gives tokens back), and 1 for a cost that is owed: it is granted at any level
--       and takes it below zero, down to minus the capacity
-- Returns 1 or 0 (granted or not), then per bucket the whole tokens left and the ms until its cost is available.
redis.set_repl(redis.REPL_NONE)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local levels = {}
local waits = {}
local granted = 1
for i = 1, #KEYS do
  local at = 5 * (i - 1)
  local gain, period, cost = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local full = tonumber(ARGV[at + 1]) * period
  local level = full
  local stored = redis.call('GET', KEYS[i])
  if stored then
    local before, since = string.match(stored, '^(-?%d+) (%d+)$')
    level = math.min(full, tonumber(before) + math.max(0, now - tonumber(since)) * gain)
  end
  levels[i] = level
  waits[i] = 0
  if ARGV[at + 5] ~= '1' and cost > 0 and cost * period > level then
    waits[i] = math.ceil((cost * period - level) / gain / 1000)
    granted = 0
  end
end
local reply = {granted}
for i = 1, #KEYS do
  local at = 5 * (i - 1)
  local gain, period, cost = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  if granted == 1 and cost ~= 0 then
    local full = tonumber(ARGV[at + 1]) * period
    levels[i] = math.max(-full, math.min(full, levels[i] - cost * period))
    if levels[i] == full then
      redis.call('DEL', KEYS[i])
    else
      local untilFull = math.ceil((full - levels[i]) / gain / 1000)
      redis.call('SET', KEYS[i], string.format('%.0f %.0f', levels[i], now), 'PX', untilFull + 60000)
    end
  end
  reply[#reply + 1] = math.floor(levels[i] / period)
  reply[#reply + 1] = waits[i]
end
return reply
