-- Appends messages to mailboxes of one partition, and publishes one notification.
-- KEYS: 1 notifications of commands, 2 actors, 3 wanted actors, then per actor: mailbox, head
-- ARGV: 1 most bytes of bodies in a notification, 2 capacity of a mailbox (0: no limit), 3 partition, 4 number of
--       actors, their ids, then per message the index of its actor and its body
-- Returns a string with one character per message: 1 appended, 0 rejected because the mailbox is full, 2 appended to a
--         removed actor, which must be restored.
local maxBytes = tonumber(ARGV[1])
local capacity = tonumber(ARGV[2])
local actors = tonumber(ARGV[4])
local room = {}
local isListed = {}
local actorLines = {}
local messageLines = {}
local bytes = 0
local results = {}
for i = 5 + actors, #ARGV, 2 do
  local index = tonumber(ARGV[i])
  local mailbox, body = KEYS[2 + 2 * index], ARGV[i + 1]
  if capacity > 0 and room[index] == nil then
    room[index] = capacity - redis.call('XLEN', mailbox)
  end
  if capacity > 0 and room[index] <= 0 then
    results[#results + 1] = '0'
  else
    local id = redis.call('XADD', mailbox, '0-*', 'b', body)
    local actor = ARGV[4 + index]
    local result = '1'
    if id == '0-1' then
      redis.call('SADD', KEYS[2], actor)
      local head = redis.call('HMGET', KEYS[3 + 2 * index], 'removed', 'cursor')
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
