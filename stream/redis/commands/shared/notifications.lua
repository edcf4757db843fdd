-- Publishes notifications of records, for scripts that begin with this file.

-- Returns an empty list of records. `options` has the most bytes of the bodies of all records that a notification
-- contains, -1 for no bodies, and the number of the database: '<bytes> <number>'.
local function newRecords(options)
  local maxBytes, database = string.match(options, '^(-?%d+) (%d+)$')
  return { maxBytes = tonumber(maxBytes), database = database, bytes = 0, partitions = {}, byName = {} }
end

-- Adds a record. `channel` is the one of its partition. The texts are lists of lines, of which a body is one. They are
-- joined when they are published, because each join copies every body; the first line is left for the number of the
-- notification.
local function addRecord(records, channel, partition, actor, position, body)
  local texts = records.byName[partition]
  if not texts then
    texts = { channel = channel, isListed = {}, actors = { '' }, bodies = { '' } }
    records.byName[partition] = texts
    records.partitions[#records.partitions + 1] = texts
  end
  local name = partition .. ' ' .. actor
  if not texts.isListed[actor] then
    texts.isListed[actor] = true
    local actors = texts.actors
    actors[#actors + 1] = name
    actors[#actors + 1] = ''
  end
  -- The lines of a notification end at a newline, so a body that contains one is too long for any notification.
  records.bytes = records.bytes + (string.find(body, '\n', 1, true) and math.huge or #body)
  if records.bytes <= records.maxBytes then
    local bodies = texts.bodies
    bodies[#bodies + 1] = name .. ' ' .. position
    bodies[#bodies + 1] = body
  end
end

-- Redis publishes to the subscribers of all databases, so a notification ends with the number of its own.
local function publishLines(channel, database, lines)
  lines[1] = redis.call('INCR', channel)
  lines[#lines + 1] = database
  redis.call('PUBLISH', channel, table.concat(lines, '\n'))
  lines[#lines] = nil
end

-- Publishes one notification for each partition: with the bodies if these are short enough, else with the actors alone.
-- Publishes all of them on the channel of the commit group too, if a process of an earlier build listens to it; on a
-- cluster this channel is the one of the partition.
local function notify(records, groupChannel)
  local which = records.bytes <= records.maxBytes and 'bodies' or 'actors'
  for _, texts in ipairs(records.partitions) do publishLines(texts.channel, records.database, texts[which]) end
  local first = records.partitions[1]
  if not first or first.channel == groupChannel then return end
  if redis.call('PUBSUB', 'NUMSUB', groupChannel)[2] == 0 then return end
  local all = { '' }
  for _, texts in ipairs(records.partitions) do
    local lines = texts[which]
    for l = 2, #lines do all[#all + 1] = lines[l] end
  end
  publishLines(groupChannel, records.database, all)
end
