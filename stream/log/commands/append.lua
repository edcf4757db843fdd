-- Appends messages to mailboxes of one partition and rings its command bell once.
-- KEYS: 1 command bell, 2 actors, then one mailbox per actor
-- ARGV: 1 length of the bell, 2 capacity of a mailbox (0: none), 3 number of actors, their ids,
--       then per message the place of its actor and its body
-- Returns a string with one character per message: 1 taken, 0 refused because the mailbox is full.
local capacity = tonumber(ARGV[2])
local actors = tonumber(ARGV[3])
local room = {}
local rang = {}
local rings = {}
local taken = {}
for i = 4 + actors, #ARGV, 2 do
  local place = tonumber(ARGV[i])
  local mailbox = KEYS[2 + place]
  if capacity > 0 and room[place] == nil then
    room[place] = capacity - redis.call('XLEN', mailbox)
  end
  if capacity > 0 and room[place] <= 0 then
    taken[#taken + 1] = '0'
  else
    local id = redis.call('XADD', mailbox, '0-*', 'b', ARGV[i + 1])
    local actor = ARGV[3 + place]
    if id == '0-1' then redis.call('SADD', KEYS[2], actor) end
    if capacity > 0 then room[place] = room[place] - 1 end
    if not rang[place] then
      rang[place] = true
      rings[#rings + 1] = actor
    end
    taken[#taken + 1] = '1'
  end
end
if #rings > 0 then
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '0-*', 'a', table.concat(rings, ' '))
end
return table.concat(taken)
