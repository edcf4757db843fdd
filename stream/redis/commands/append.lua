-- Appends messages to mailboxes of one partition, and publishes one notification.
-- KEYS: 1 notifications of commands, 2 actors, 3 wanted actors, 4 fences, then per actor: mailbox, head
-- ARGV: 1 most bytes of bodies in a notification, 2 capacity of a mailbox (0: no limit), 3 partition, 4 number of
--       actors, their ids, then the number of fences to raise; per fence: partition, epoch; then the number of senders;
--       per sender: partition, epoch; then per message: the index of its actor, its body, the index of its sender (0 for
--       none)
-- Returns a string with one character per message: 1 appended, 0 rejected because the mailbox is full, 2 appended to a
--         removed actor, which must be restored, 3 rejected because the ownership of the sender is fenced.
local maxBytes = tonumber(ARGV[1])
local capacity = tonumber(ARGV[2])
local actors = tonumber(ARGV[4])
local room = {}
local isListed = {}
local actorLines = {}
local messageLines = {}
local bytes = 0
local results = {}
local fences = 5 + actors
local senders = fences + 2 * tonumber(ARGV[fences]) + 1
for f = fences + 1, senders - 1, 2 do
  if tonumber(ARGV[f + 1]) > tonumber(redis.call('HGET', KEYS[4], ARGV[f]) or '0') then
    redis.call('HSET', KEYS[4], ARGV[f], ARGV[f + 1])
  end
end
local first = senders + 2 * tonumber(ARGV[senders]) + 1
local isFenced = {}
for s = 1, tonumber(ARGV[senders]) do
  local lowest = redis.call('HGET', KEYS[4], ARGV[senders + 2 * s - 1])
  isFenced[s] = lowest and tonumber(ARGV[senders + 2 * s]) < tonumber(lowest)
end
for i = first, #ARGV, 3 do
  local index = tonumber(ARGV[i])
  local mailbox, body = KEYS[3 + 2 * index], ARGV[i + 1]
  if capacity > 0 and room[index] == nil then
    room[index] = capacity - redis.call('XLEN', mailbox)
  end
  if isFenced[tonumber(ARGV[i + 2])] then
    results[#results + 1] = '3'
  elseif capacity > 0 and room[index] <= 0 then
    results[#results + 1] = '0'
  else
    local id = redis.call('XADD', mailbox, '0-*', 'b', body)
    local actor = ARGV[4 + index]
    local result = '1'
    if id == '0-1' then
      redis.call('SADD', KEYS[2], actor)
      local head = redis.call('HMGET', KEYS[4 + 2 * index], 'removed', 'cursor')
      if head[1] then
        -- The mailbox went with the actor. Its ids go on after the last message that was applied.
        redis.call('XDEL', mailbox, id)
        id = '0-' .. string.format('%.0f', tonumber(string.sub(head[2], 3)) + 1)
        redis.call('XADD', mailbox, id, 'b', body)
        redis.call('SADD', KEYS[3], actor)
        result = '2'
      end
    end
    if capacity > 0 then room[index] = room[index] - 1 end
    local name = ARGV[3] .. ' ' .. actor
    if not isListed[index] then
      isListed[index] = true
      actorLines[#actorLines + 1] = name .. '\n'
    end
    bytes = bytes + (string.find(body, '\n', 1, true) and math.huge or #body)
    if bytes <= maxBytes then
      messageLines[#messageLines + 1] = name .. ' ' .. string.sub(id, 3) .. '\n' .. body
    end
    results[#results + 1] = result
  end
end
if #actorLines > 0 then
  local lines = bytes <= maxBytes and messageLines or actorLines
  redis.call('PUBLISH', KEYS[1], redis.call('INCR', KEYS[1]) .. '\n' .. table.concat(lines, '\n'))
end
return table.concat(results)
