-- Appends messages to mailboxes of one partition, and publishes one notification.
-- KEYS: 1 notifications of commands in the commit group, 2 those of the partition, 3 actors, 4 wanted actors, 5 fences,
--       then per actor: mailbox, head
-- ARGV: 1 options of the notification, 2 capacity of a mailbox (0: no limit), 3 partition, 4 number of
--       actors, their ids, then the number of fences to raise; per fence: partition, epoch; then the number of senders;
--       per sender: partition, epoch; then per message: the index of its actor, its body, the index of its sender (0 for
--       none)
-- Returns a string with one character per message: 1 appended, 0 rejected because the mailbox is full, 2 appended to a
--         removed actor, which must be restored, 3 rejected because the ownership of the sender is fenced.
local records = newRecords(ARGV[1])
local capacity = tonumber(ARGV[2])
local actors = tonumber(ARGV[4])
local room = {}
local results = {}
local fences = 5 + actors
local senders = fences + 2 * tonumber(ARGV[fences]) + 1
for f = fences + 1, senders - 1, 2 do
  if tonumber(ARGV[f + 1]) > tonumber(redis.call('HGET', KEYS[5], ARGV[f]) or '0') then
    redis.call('HSET', KEYS[5], ARGV[f], ARGV[f + 1])
  end
end
local first = senders + 2 * tonumber(ARGV[senders]) + 1
local isFenced = {}
for s = 1, tonumber(ARGV[senders]) do
  local lowest = redis.call('HGET', KEYS[5], ARGV[senders + 2 * s - 1])
  isFenced[s] = lowest and tonumber(ARGV[senders + 2 * s]) < tonumber(lowest)
end
for i = first, #ARGV, 3 do
  local index = tonumber(ARGV[i])
  local mailbox, head = KEYS[4 + 2 * index], KEYS[5 + 2 * index]
  if capacity > 0 and room[index] == nil then
    room[index] = capacity - redis.call('XLEN', mailbox)
  end
  if isFenced[tonumber(ARGV[i + 2])] then
    results[#results + 1] = '3'
  elseif capacity > 0 and room[index] <= 0 then
    results[#results + 1] = '0'
  else
    results[#results + 1] =
      appendMessage(records, KEYS[2], ARGV[3], ARGV[4 + index], ARGV[i + 1], mailbox, head, KEYS[3], KEYS[4])
    if capacity > 0 then room[index] = room[index] - 1 end
  end
end
notify(records, KEYS[1])
return table.concat(results)
