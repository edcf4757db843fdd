-- Commits the changes of one step, all or none, with the messages that leave with them, and publishes a notification of
-- the entries and one of the messages.
-- KEYS: 1 notifications of deltas; per ownership: lease, deadlines; per actor: head, deltas, mailbox,
--       quarantine of its partition; notifications of commands; per receiver: mailbox, head, actors, wanted actors
-- ARGV: 1 most bytes of bodies in a notification, 2 number of ownerships; per ownership: partition, epoch; then the
--       number of actors; per actor: the index of its ownership, id; then the number of publications; per publication:
--       channel, body; then the number of receivers of messages; per receiver: partition, id; then the number of
--       messages; per message: the index of its receiver, body; then per change: the index of its actor, expected seq,
--       cursor, first mailbox id to keep, packed entry ('' for none), deadline ('' unchanged, '-' none, else Unix ms),
--       '1' when no message is left to relay, and for the first entry of an incarnation its seq and the lineage, as
--       '<seq> <lineage>' (else ''), a message for the quarantine ('' for none), most messages in the quarantine
-- Returns 'ok', 'fenced <partition>' (the lease has another epoch), 'removed <actor>' or 'conflict <actor>' (it is not at
-- that seq).
local maxBytes = tonumber(ARGV[1])
local ownerships = tonumber(ARGV[2])
for o = 1, ownerships do
  if redis.call('HGET', KEYS[2 * o], 'epoch') ~= ARGV[2 + 2 * o] then return 'fenced ' .. ARGV[1 + 2 * o] end
end
local actors = 3 + 2 * ownerships
local publications = actors + 2 * tonumber(ARGV[actors]) + 1
local receivers = publications + 2 * tonumber(ARGV[publications]) + 1
local departures = receivers + 2 * tonumber(ARGV[receivers]) + 1
local first = departures + 2 * tonumber(ARGV[departures]) + 1
local function after(seq, resumed)
  return string.match(resumed, '^%d+') or string.format('%.0f', tonumber(seq) + 1)
end
-- Checks the seq of every change before the first write. `seqs` has the seq of each actor after its changes so far.
local seqs = {}
for c = first, #ARGV, 10 do
  local a = tonumber(ARGV[c])
  local seq = seqs[a]
  if not seq then
    local head = redis.call('HMGET', KEYS[4 * a - 2 + 2 * ownerships], 'seq', 'removed')
    if head[2] then return 'removed ' .. ARGV[actors + 2 * a] end
    seq = head[1] or '0'
  end
  if seq ~= ARGV[c + 1] then return 'conflict ' .. ARGV[actors + 2 * a] end
  seqs[a] = ARGV[c + 4] == '' and seq or after(seq, ARGV[c + 7])
end
-- Writes the changes. A notification has `entryLines` if they are short enough, else only `actorLines`.
local isListed = {}
local actorLines = {}
local entryLines = {}
local bytes = 0
for c = first, #ARGV, 10 do
  local a = tonumber(ARGV[c])
  local at = 4 * a - 2 + 2 * ownerships
  local head, deltas, mailbox = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local ownership, actor = tonumber(ARGV[actors + 2 * a - 1]), ARGV[actors + 2 * a]
  local seq, cursor, firstKept, entry, deadline, relayed, resumed =
    ARGV[c + 1], ARGV[c + 2], ARGV[c + 3], ARGV[c + 4], ARGV[c + 5], ARGV[c + 6], ARGV[c + 7]
  if entry ~= '' then
    seq = after(seq, resumed)
    if resumed ~= '' then redis.call('HSET', head, 'lineage', string.match(resumed, ' (.*)$')) end
    redis.call('XADD', deltas, seq .. '-0', 'e', entry)
    local name = ARGV[1 + 2 * ownership] .. ' ' .. actor
    if not isListed[a] then
      isListed[a] = true
      actorLines[#actorLines + 1] = name .. '\n'
    end
    -- The lines of a notification end at a newline, so an entry that contains one is too long for any notification.
    bytes = bytes + (string.find(entry, '\n', 1, true) and math.huge or #entry)
    if bytes <= maxBytes then entryLines[#entryLines + 1] = name .. ' ' .. seq .. '\n' .. entry end
  end
  if relayed == '1' then
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor, 'relayed', seq)
  else
    redis.call('HSET', head, 'seq', seq, 'cursor', cursor)
  end
  redis.call('XTRIM', mailbox, 'MINID', firstKept)
  if ARGV[c + 8] ~= '' then redis.call('XADD', KEYS[at + 3], 'MAXLEN', ARGV[c + 9], '*', 'm', ARGV[c + 8]) end
  if deadline == '-' then
    redis.call('ZREM', KEYS[1 + 2 * ownership], actor)
  elseif deadline ~= '' then
    redis.call('ZADD', KEYS[1 + 2 * ownership], deadline, actor)
  end
end
local commands = 2 + 2 * ownerships + 4 * tonumber(ARGV[actors])
local messages = newMessages(maxBytes)
for m = departures + 1, first - 1, 2 do
  local r = tonumber(ARGV[m])
  local at = commands + 4 * r - 3
  local partition, actor = ARGV[receivers + 2 * r - 1], ARGV[receivers + 2 * r]
  appendMessage(messages, partition, actor, ARGV[m + 1], KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3])
end
notifyOfMessages(messages, KEYS[commands])
for p = publications + 1, receivers - 1, 2 do redis.call('PUBLISH', ARGV[p], ARGV[p + 1]) end
if #actorLines > 0 then
  local lines = bytes <= maxBytes and entryLines or actorLines
  redis.call('PUBLISH', KEYS[1], redis.call('INCR', KEYS[1]) .. '\n' .. table.concat(lines, '\n'))
end
return 'ok'
