-- Makes the decisions of one read batch durable: all of them or none.
-- KEYS: 1 lease, 2 delta bell, 3 deadlines; then per actor: head, deltas, mailbox
-- ARGV: 1 epoch, 2 length of the bell; then per actor: id, expected seq, cursor, first mailbox id to keep,
--       packed entry ('' for none), deadline ('' unchanged, '-' none, else Unix ms)
-- Returns 'ok', 'fenced' (the lease has another epoch) or 'conflict <actor>' (it is not at the expected seq).
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'fenced' end
local changes = (#ARGV - 2) / 6
for i = 0, changes - 1 do
  local seq = redis.call('HGET', KEYS[4 + 3 * i], 'seq') or '0'
  if seq ~= ARGV[4 + 6 * i] then return 'conflict ' .. ARGV[3 + 6 * i] end
end
local rings = {}
for i = 0, changes - 1 do
  local head, deltas, mailbox = KEYS[4 + 3 * i], KEYS[5 + 3 * i], KEYS[6 + 3 * i]
  local at = 3 + 6 * i
  local actor, seq, cursor, keep, entry, deadline =
    ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  if entry == '' then
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor)
  else
    local next = string.format('%.0f', tonumber(seq) + 1)
    redis.call('XADD', deltas, next .. '-0', 'e', entry)
    redis.call('HSET', head, 'seq', next, 'cursor', cursor)
    rings[#rings + 1] = actor
  end
  redis.call('XTRIM', mailbox, 'MINID', keep)
  if deadline == '-' then
    redis.call('ZREM', KEYS[3], actor)
  elseif deadline ~= '' then
    redis.call('ZADD', KEYS[3], deadline, actor)
  end
end
if #rings > 0 then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '0-*', 'a', table.concat(rings, ' '))
end
return 'ok'
