-- Moves a position of actors forward, and removes the entries that nothing needs any more: those before the resume
-- window that the previous snapshot, the relay and the read model have passed. A position that is already further stays
-- as it is, and the last entry always stays.
-- KEYS: 1 lease, then per actor: head, deltas
-- ARGV: 1 field of the head: 'relayed', 'projected' or 'window' (first seq of the resume window), 2 epoch of the owner ('':
--       anyone may move this position), then one seq per actor
-- Returns 1, or 0 when the lease has another epoch.
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 0 end
for i = 1, #ARGV - 2 do
  local head, deltas = KEYS[2 * i], KEYS[2 * i + 1]
  local known = tonumber(redis.call('HGET', head, ARGV[1]) or '0')
  if tonumber(ARGV[2 + i]) > known then redis.call('HSET', head, ARGV[1], ARGV[2 + i]) end
  local fields = redis.call('HMGET', head, 'seq', 'window', 'previous', 'relayed', 'projected')
  local firstKept = math.min(
    tonumber(fields[1] or '0'),
    tonumber(fields[2] or '0'),
    tonumber(fields[3] or '0') + 1,
    tonumber(fields[4] or '0') + 1,
    tonumber(fields[5] or '0') + 1
  )
  if firstKept > 1 then redis.call('XTRIM', deltas, 'MINID', string.format('%.0f', firstKept) .. '-0') end
end
return 1
