-- Publishes notifications of records, for scripts that begin with this file.

-- Returns an empty list of records. `options` has the most bytes of the bodies of all records that a notification
-- contains, -1 for no bodies, and the number of the database: '<bytes> <number>'.
local function newRecords(options)
  local maxBytes, database = string.match(options, '^(-?%d+) (%d+)$')
  return { maxBytes = tonumber(maxBytes), database = database, bytes = 0, partitions = {}, byName = {} }
end

-- Adds a record. `channel` is the one of its partition.
local function addRecord(records, channel, partition, actor, position, body)
  local lines = records.byName[partition]
  if not lines then
    lines = { channel = channel, isListed = {}, actors = {}, bodies = {} }
    records.byName[partition] = lines
    records.partitions[#records.partitions + 1] = lines
  end
  local name = partition .. ' ' .. actor
  if not lines.isListed[actor] then
    lines.isListed[actor] = true
    lines.actors[#lines.actors + 1] = name .. '\n'
  end
  -- The lines of a notification end at a newline, so a body that contains one is too long for any notification.
  records.bytes = records.bytes + (string.find(body, '\n', 1, true) and math.huge or #body)
  if records.bytes <= records.maxBytes then
    lines.bodies[#lines.bodies + 1] = name .. ' ' .. position .. '\n' .. body
  end
end

-- Redis publishes to the subscribers of all databases, so a notification ends with the number of its own.
local function publishLines(channel, database, texts)
  local number = redis.call('INCR', channel)
  redis.call('PUBLISH', channel, number .. '\n' .. table.concat(texts, '\n') .. '\n' .. database)
end

-- Publishes one notification for each partition: with the bodies if these are short enough, else with the actors alone.
-- Publishes all of them on the channel of the commit group too, if a process of an earlier build listens to it; on a
-- cluster this channel is the one of the partition.
local function notify(records, groupChannel)
  local texts = {}
  for p, lines in ipairs(records.partitions) do
    texts[p] = table.concat(records.bytes <= records.maxBytes and lines.bodies or lines.actors, '\n')
    publishLines(lines.channel, records.database, { texts[p] })
  end
  local first = records.partitions[1]
  if not first or first.channel == groupChannel then return end
  if redis.call('PUBSUB', 'NUMSUB', groupChannel)[2] > 0 then publishLines(groupChannel, records.database, texts) end
end
