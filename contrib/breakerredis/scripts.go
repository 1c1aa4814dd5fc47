package breakerredis

import "github.com/redis/go-redis/v9"

// acquireScript grants the lease if it is free, or if it lives for longer than
// ARGV[2] ms or for ever, which no lease does. A token is an epoch and a
// number: the epoch is ARGV[3] when the fence is made, and is lost with it, so
// that numbers of two fences are never compared. It returns whether it
// granted, how long to wait, the lease, the last message and whether it
// replaced a lease that was none.
var acquireScript = redis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
local value = ''
if left ~= -2 then value = redis.call('GET', KEYS[1]) or '' end
if left >= 0 and left <= tonumber(ARGV[2]) then
  return {0, math.max(left, 1), value, redis.call('GET', KEYS[3]) or '', 0}
end
local fence = redis.call('GET', KEYS[2]) or ''
local epoch, number = string.match(fence, '^(%w+)%.(%d+)$')
if not epoch or #number > 15 then epoch, number = ARGV[3], '0' end
local token = epoch .. '.' .. string.format('%.0f', tonumber(number) + 1)
redis.call('SET', KEYS[2], token, 'PX', 86400000)
redis.call('SET', KEYS[1], token .. ' ' .. ARGV[4], 'PX', ARGV[1])
return {1, 0, token, '', left ~= -2 and 1 or 0}
`)

// renewScript prolongs the lease of a token, and returns 0 if it is lost.
var renewScript = redis.NewScript(`
local value = redis.call('GET', KEYS[1]) or ''
if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`)

// endScript ends the lease of a token, or lets it run out after what is left of
// it, at least ARGV[3] and at most ARGV[4] ms, and publishes the message unless
// a later lease has been granted. It returns 1 if it did. Who may not publish
// still leaves the message for those that ask.
var endScript = redis.NewScript(`
local value = redis.call('GET', KEYS[1]) or ''
local mine = string.sub(value, 1, #ARGV[1] + 1) == ARGV[1] .. ' '
if mine and ARGV[2] == '1' then
  redis.call('DEL', KEYS[1])
elseif mine and ARGV[4] ~= '0' then
  local left = redis.call('PTTL', KEYS[1])
  local wanted = math.max(math.min(left, tonumber(ARGV[4])), tonumber(ARGV[3]))
  if wanted ~= left then redis.call('PEXPIRE', KEYS[1], wanted) end
end
if ARGV[5] == '' or redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[3], ARGV[5], 'PX', 60000)
if ARGV[6] ~= '' then redis.pcall('PUBLISH', ARGV[6], ARGV[5]) end
return 1
`)
