-- Commits the changes of one step, all or none, with the messages that leave with them, and publishes for each partition
-- a notification of its entries and one of its messages.
-- KEYS: 1 notifications of deltas in the commit group, 2 those of commands; per ownership: lease, deadlines,
--       notifications of deltas; per actor: head, deltas, mailbox, quarantine of its partition; per receiver: mailbox,
--       head, actors, wanted actors, notifications of commands
-- ARGV: 1 options of the notifications, 2 number of ownerships; per ownership: partition, epoch; then the
--       number of actors; per actor: the index of its ownership, id; then the number of publications; per publication:
--       channel, body; then the number of receivers of messages; per receiver: partition, id; then the number of
--       messages; per message: the index of its receiver, body; then per change: the index of its actor, expected seq,
--       cursor, first mailbox id to keep, packed entry ('' for none), deadline ('' unchanged, '-' none, else Unix ms),
--       '1' when no message is left to relay, and for the first entry of an incarnation its seq and the lineage, as
--       '<seq> <lineage>' (else ''), a message for the quarantine ('' for none), most messages in the quarantine
-- Returns 'ok', or a list of 'ok' and the messages that full quarantines have dropped; 'fenced <partition>' (the lease has
-- another epoch), 'removed <actor>' or 'conflict <actor>' (it is not at that seq).
local ownerships = tonumber(ARGV[2])
for o = 1, ownerships do
  if redis.call('HGET', KEYS[3 * o], 'epoch') ~= ARGV[2 + 2 * o] then return 'fenced ' .. ARGV[1 + 2 * o] end
end
local actors = 3 + 2 * ownerships
local publications = actors + 2 * tonumber(ARGV[actors]) + 1
local receivers = publications + 2 * tonumber(ARGV[publications]) + 1
local departures = receivers + 2 * tonumber(ARGV[receivers]) + 1
local first = departures + 2 * tonumber(ARGV[departures]) + 1
local function after(seq, resumed)
  return string.match(resumed, '^%d+') or string.format('%.0f', tonumber(seq) + 1)
end
-- Checks the seq of every change before the first write. `seqs` has the seq of each actor after its changes so far, and
-- `cursors` its cursor, to which the commit that wrote it has trimmed the mailbox.
local seqs, cursors = {}, {}
for c = first, #ARGV, 10 do
  local a = tonumber(ARGV[c])
  local seq = seqs[a]
  if not seq then
    local head = redis.call('HMGET', KEYS[4 * a - 1 + 3 * ownerships], 'seq', 'removed', 'cursor')
    if head[2] then return 'removed ' .. ARGV[actors + 2 * a] end
    seq, cursors[a] = head[1] or '0', head[3]
  end
  if seq ~= ARGV[c + 1] then return 'conflict ' .. ARGV[actors + 2 * a] end
  seqs[a] = ARGV[c + 4] == '' and seq or after(seq, ARGV[c + 7])
end
-- Writes the changes.
local entries = newRecords(ARGV[1])
local reply = { 'ok' }
for c = first, #ARGV, 10 do
  local a = tonumber(ARGV[c])
  local at = 4 * a - 1 + 3 * ownerships
  local head, deltas, mailbox = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local ownership, actor = tonumber(ARGV[actors + 2 * a - 1]), ARGV[actors + 2 * a]
  local seq, cursor, firstKept, entry, deadline, relayed, resumed =
    ARGV[c + 1], ARGV[c + 2], ARGV[c + 3], ARGV[c + 4], ARGV[c + 5], ARGV[c + 6], ARGV[c + 7]
  if entry ~= '' then
    seq = after(seq, resumed)
    if resumed ~= '' then redis.call('HSET', head, 'lineage', string.match(resumed, ' (.*)$')) end
    redis.call('XADD', deltas, seq .. '-0', 'e', entry)
    addRecord(entries, KEYS[2 + 3 * ownership], ARGV[1 + 2 * ownership], actor, seq, entry)
  end
  if relayed == '1' then
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor, 'relayed', seq)
  else
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor)
  end
  if cursors[a] ~= cursor then
    redis.call('XTRIM', mailbox, 'MINID', firstKept)
    cursors[a] = cursor
  end
  if ARGV[c + 8] ~= '' then
    local quarantine = KEYS[at + 3]
    if redis.call('XLEN', quarantine) >= tonumber(ARGV[c + 9]) then
      table.insert(reply, redis.call('XRANGE', quarantine, '-', '+', 'COUNT', 1)[1][2][2])
    end
    redis.call('XADD', quarantine, 'MAXLEN', ARGV[c + 9], '*', 'm', ARGV[c + 8])
  end
  if deadline == '-' then
    redis.call('ZREM', KEYS[1 + 3 * ownership], actor)
  elseif deadline ~= '' then
    redis.call('ZADD', KEYS[1 + 3 * ownership], deadline, actor)
  end
end
local lastActor = 2 + 3 * ownerships + 4 * tonumber(ARGV[actors])
local messages = newRecords(ARGV[1])
for m = departures + 1, first - 1, 2 do
  local r = tonumber(ARGV[m])
  local at = lastActor + 5 * r - 4
  local partition, actor = ARGV[receivers + 2 * r - 1], ARGV[receivers + 2 * r]
  local mailbox, head, channel = KEYS[at], KEYS[at + 1], KEYS[at + 4]
  appendMessage(messages, channel, partition, actor, ARGV[m + 1], mailbox, head, KEYS[at + 2], KEYS[at + 3])
end
notify(messages, KEYS[2])
for p = publications + 1, receivers - 1, 2 do redis.call('PUBLISH', ARGV[p], ARGV[p + 1]) end
notify(entries, KEYS[1])
return #reply == 1 and 'ok' or reply
