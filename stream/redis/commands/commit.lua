-- Makes the decisions of one step durable: all of them or none.
-- KEYS: 1 delta bell; per tenure: lease, deadlines; per actor: head, deltas, mailbox
-- ARGV: 1 how much a ring may carry, 2 number of tenures; per tenure: partition, epoch; then the number of actors; per
--       actor: the place of its tenure, id; then the number of publications; per publication: channel, body; then per
--       change: the place of its actor, expected seq, cursor, first mailbox id to keep, packed entry ('' for none),
--       deadline ('' unchanged, '-' none, else Unix ms), '1' when nothing has yet to be relayed
-- Returns 'ok', 'fenced <partition>' (the lease has another epoch) or 'conflict <actor>' (it is not at that seq).
local tenures = tonumber(ARGV[2])
for t = 1, tenures do
  if redis.call('HGET', KEYS[2 * t], 'epoch') ~= ARGV[2 + 2 * t] then return 'fenced ' .. ARGV[1 + 2 * t] end
end
local actors = 3 + 2 * tenures
local publications = actors + 2 * tonumber(ARGV[actors]) + 1
local first = publications + 2 * tonumber(ARGV[publications]) + 1
local function after(seq) return string.format('%.0f', tonumber(seq) + 1) end
local seqs = {}
for c = first, #ARGV, 7 do
  local a = tonumber(ARGV[c])
  local seq = seqs[a] or redis.call('HGET', KEYS[3 * a - 1 + 2 * tenures], 'seq') or '0'
  if seq ~= ARGV[c + 1] then return 'conflict ' .. ARGV[actors + 2 * a] end
  seqs[a] = ARGV[c + 4] == '' and seq or after(seq)
end
local named = {}
local names = {}
local entries = {}
local length = 0
for c = first, #ARGV, 7 do
  local a = tonumber(ARGV[c])
  local at = 3 * a - 1 + 2 * tenures
  local head, deltas, mailbox = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local tenure, actor = tonumber(ARGV[actors + 2 * a - 1]), ARGV[actors + 2 * a]
  local seq, cursor, keep, entry, deadline, relayed =
    ARGV[c + 1], ARGV[c + 2], ARGV[c + 3], ARGV[c + 4], ARGV[c + 5], ARGV[c + 6]
  if entry ~= '' then
    seq = after(seq)
    redis.call('XADD', deltas, seq .. '-0', 'e', entry)
    local name = ARGV[1 + 2 * tenure] .. ' ' .. actor
    if not named[a] then
      named[a] = true
      names[#names + 1] = name .. '\n'
    end
    length = length + (string.find(entry, '\n', 1, true) and math.huge or #entry)
    if length <= tonumber(ARGV[1]) then entries[#entries + 1] = name .. ' ' .. seq .. '\n' .. entry end
  end
  if relayed == '1' then
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor, 'relayed', seq)
  else
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor)
  end
  redis.call('XTRIM', mailbox, 'MINID', keep)
  if deadline == '-' then
    redis.call('ZREM', KEYS[1 + 2 * tenure], actor)
  elseif deadline ~= '' then
    redis.call('ZADD', KEYS[1 + 2 * tenure], deadline, actor)
  end
end
for p = publications + 1, first - 1, 2 do redis.call('PUBLISH', ARGV[p], ARGV[p + 1]) end
if #names > 0 then
  local lines = length <= tonumber(ARGV[1]) and entries or names
  redis.call('PUBLISH', KEYS[1], redis.call('INCR', KEYS[1]) .. '\n' .. table.concat(lines, '\n'))
end
return 'ok'
