-- Appends messages to mailboxes of one partition and rings its command bell once.
-- KEYS: 1 command bell, 2 actors, then one mailbox per actor
-- ARGV: 1 how much a ring may carry, 2 capacity of a mailbox (0: none), 3 partition, 4 number of actors, their ids,
--       then per message the place of its actor and its body
-- Returns a string with one character per message: 1 taken, 0 refused because the mailbox is full.
local capacity = tonumber(ARGV[2])
local actors = tonumber(ARGV[4])
local room = {}
local named = {}
local names = {}
local bodies = {}
local length = 0
local taken = {}
for i = 5 + actors, #ARGV, 2 do
  local place = tonumber(ARGV[i])
  local mailbox, body = KEYS[2 + place], ARGV[i + 1]
  if capacity > 0 and room[place] == nil then
    room[place] = capacity - redis.call('XLEN', mailbox)
  end
  if capacity > 0 and room[place] <= 0 then
    taken[#taken + 1] = '0'
  else
    local id = redis.call('XADD', mailbox, '0-*', 'b', body)
    local actor = ARGV[4 + place]
    if id == '0-1' then redis.call('SADD', KEYS[2], actor) end
    if capacity > 0 then room[place] = room[place] - 1 end
    local name = ARGV[3] .. ' ' .. actor
    if not named[place] then
      named[place] = true
      names[#names + 1] = name .. '\n'
    end
    length = length + (string.find(body, '\n', 1, true) and math.huge or #body)
    if length <= tonumber(ARGV[1]) then bodies[#bodies + 1] = name .. ' ' .. string.sub(id, 3) .. '\n' .. body end
    taken[#taken + 1] = '1'
  end
end
if #names > 0 then
  local lines = length <= tonumber(ARGV[1]) and bodies or names
  redis.call('PUBLISH', KEYS[1], redis.call('INCR', KEYS[1]) .. '\n' .. table.concat(lines, '\n'))
end
return table.concat(taken)
