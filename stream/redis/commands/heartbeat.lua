-- Records the heartbeat of a worker, and decides which workers are live.
-- KEYS: 1 workers, as earlier builds know them, 2 worker records, 3 the time in service
-- ARGV: 1 worker, 2 shortest lease in ms, 3 '1' when the worker takes partitions, '0' while it hands all of them over
-- Returns per live worker: its name, the time since which it is live in ms, and '1' when it takes partitions.
--
-- All times are in service: the clock of this server, of which at most a third of a lease counts between two heartbeats.
-- While this server is stalled, restarts or is replaced by its replica, no worker can beat, and none loses its lease.
-- After a silence in which connections are given up, the time in service stands still until the workers are back.
local SILENCE = 3000
local RECONNECT = 1000
-- A lease is this many of the longest recent intervals between two heartbeats of its worker.
local INTERVALS = 3
-- The longest lease is this many of the shortest.
local LONGEST = 10
-- Share of the longest interval that is left after one more heartbeat.
local DECAY = 0.99
-- Time for which the record of a dead worker is kept, in ms.
local FORGET = 60000
local worker, shortest, takes = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local function text(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local served, at, resume = 0, now, 0
local known = redis.call('HMGET', KEYS[3], 'served', 'at', 'resume')
if known[1] then served, at, resume = tonumber(known[1]), tonumber(known[2]), tonumber(known[3]) end
local gap = now - at
-- The clock of the server may have been set back.
if gap < 0 then resume = math.min(resume, now) end
if gap > SILENCE then resume = now + RECONNECT end
if now >= resume then served = served + math.max(0, math.min(gap, math.ceil(shortest / 3))) end
redis.call('HSET', KEYS[3], 'served', text(served), 'at', text(now), 'resume', text(resume))

-- A record is: last heartbeat, begin of the life or '-' of a dead worker, longest recent interval, takes.
local records = redis.call('HGETALL', KEYS[2])
local last, since, longest, own = {}, {}, {}, {}
for i = 1, #records, 2 do
  local name = records[i]
  local l, s, p, t = string.match(records[i + 1], '^(%S+) (%S+) (%S+) (%S+)$')
  last[name], since[name], longest[name], own[name] = tonumber(l), tonumber(s), tonumber(p), t
end
local function save(name)
  local begin = since[name] and text(since[name]) or '-'
  redis.call('HSET', KEYS[2], name, text(last[name]) .. ' ' .. begin .. ' ' .. text(longest[name]) .. ' ' .. own[name])
end

local interval = last[worker] and served - last[worker] or 0
longest[worker] = math.max(math.min(interval, LONGEST * shortest / INTERVALS), (longest[worker] or 0) * DECAY)
last[worker], own[worker] = served, takes
since[worker] = since[worker] or served
save(worker)
redis.call('ZADD', KEYS[1], now, worker)

local live = {}
local function add(name, ms, taking)
  live[#live + 1] = name
  live[#live + 1] = text(ms)
  live[#live + 1] = taking
end
for name in pairs(last) do
  local lease = math.max(shortest, math.min(INTERVALS * longest[name], LONGEST * shortest))
  if since[name] and served - last[name] > lease then
    since[name] = nil
    save(name)
  end
  if since[name] then
    add(name, served - since[name], own[name])
  elseif served - last[name] > FORGET then
    redis.call('HDEL', KEYS[2], name)
    redis.call('ZREM', KEYS[1], name)
  end
end
-- A worker of an earlier build has no record. It shares the partitions by another rule.
local beats = redis.call('ZRANGEBYSCORE', KEYS[1], text(now - LONGEST * shortest), '+inf')
for _, name in ipairs(beats) do
  if not last[name] then add(name, 0, '0') end
end
return live
