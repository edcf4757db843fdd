-- Appends messages to mailboxes, for scripts that begin with this file.

-- Appends a message, and adds it to the records of a notification. `channel` is the one of the partition. Returns '1'; or
-- '2' for a removed actor, which must be restored.
local function appendMessage(records, channel, partition, actor, body, mailbox, head, actorsKey, wantedKey)
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
  addRecord(records, channel, partition, actor, string.sub(id, 3), body)
  return result
end
