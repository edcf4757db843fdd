-- Appends messages to mailboxes, for scripts that begin with this file.

-- Returns a list of messages for one notification, of which the bodies have at most `maxBytes`.
local function newMessages(maxBytes)
  return { maxBytes = maxBytes, bytes = 0, isListed = {}, actorLines = {}, messageLines = {} }
end

-- Appends a message, and adds it to `messages`. Returns '1'; or '2' for a removed actor, which must be restored.
local function appendMessage(messages, partition, actor, body, mailbox, head, actorsKey, wantedKey)
  local id = redis.call('XADD', mailbox, '0-*', 'b', body)
  local result = '1'
  if id == '0-1' then
    redis.call('SADD', actorsKey, actor)
    local removed = redis.call('HMGET', head, 'removed', 'cursor')
    if removed[1] then
      -- The mailbox went with the actor. Its ids go on after the last message that was applied.
      redis.call('DEL', mailbox)
      id = '0-' .. string.format('%.0f', tonumber(string.sub(removed[2], 3)) + 1)
      redis.call('XADD', mailbox, id, 'b', body)
      redis.call('SADD', wantedKey, actor)
      result = '2'
    end
  end
  local name = partition .. ' ' .. actor
  if not messages.isListed[name] then
    messages.isListed[name] = true
    messages.actorLines[#messages.actorLines + 1] = name .. '\n'
  end
  -- The lines of a notification end at a newline, so a message that contains one is too long for any notification.
  messages.bytes = messages.bytes + (string.find(body, '\n', 1, true) and math.huge or #body)
  if messages.bytes <= messages.maxBytes then
    messages.messageLines[#messages.messageLines + 1] = name .. ' ' .. string.sub(id, 3) .. '\n' .. body
  end
  return result
end

-- Publishes one notification of the messages: with their bodies if these are short enough, else with the actors alone.
local function notifyOfMessages(messages, channel)
  if #messages.actorLines == 0 then return end
  local lines = messages.bytes <= messages.maxBytes and messages.messageLines or messages.actorLines
  redis.call('PUBLISH', channel, redis.call('INCR', channel) .. '\n' .. table.concat(lines, '\n'))
end
