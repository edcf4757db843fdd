-- Removes parts of an actor that neither its latest snapshot nor its previous one names. Runs also when the memory is
-- full, because it frees memory.
-- KEYS: 1 lease, 2 latest snapshot, 3 previous snapshot, 4 parts
-- ARGV: 1 epoch, 2 most parts to remove
-- Returns the number of such parts that are left, or -1 (the lease has another epoch).
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return -1 end
local named = {}
for k = 2, 3 do
  for hash in string.gmatch(redis.call('HGET', KEYS[k], 'parts') or '', '%S+') do named[hash] = true end
end
local left = 0
local removed = 0
for _, hash in ipairs(redis.call('HKEYS', KEYS[4])) do
  if not named[hash] then
    if removed < tonumber(ARGV[2]) then
      redis.call('HDEL', KEYS[4], hash)
      removed = removed + 1
    else
      left = left + 1
    end
  end
end
return left
