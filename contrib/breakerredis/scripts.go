package breakerredis

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/redis/go-redis/v9"
)

// The keys of a name have one hash tag, so that a Cluster keeps them in one
// slot, where a script may use them all.
//
//	{prefix:name}:lease    the token of the lease that is out; lives for its TTL
//	{prefix:name}:fence    the highest token so far; lives for a day without leases
//	{prefix:name}:verdict  what was found out last: the token, a space, the verdict; lives for a minute
type keys struct{ lease, fence, verdict string }

func keysOf(prefix, name string) keys {
	tag := "{" + prefix + ":" + url.QueryEscape(name) + "}" // a brace in the name would end the tag
	return keys{tag + ":lease", tag + ":fence", tag + ":verdict"}
}

// acquireScript grants the lease if it is free. It returns the token, or 0, how
// long to wait, what the breaker that has the lease has found out so far and its token. A token is the server's time in
// microseconds, or more if that is not higher than the last one: so tokens go
// on growing when all keys are lost. They stay exact in Lua's numbers until
// the year 2255.
var acquireScript = redis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  return redis.error_reply('ERR ' .. KEYS[1] .. ' has no time to live: it is not a lease')
end
if left >= 0 then
  local verdict = redis.call('GET', KEYS[3]) or ''
  local owner = redis.call('GET', KEYS[1])
  if string.sub(verdict, 1, #owner + 1) ~= owner .. ' ' then verdict = '' end
  return {'0', math.max(left, 1), verdict, owner}
end
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0') or 0
if token <= last then token = last + 1 end
token = string.format('%.0f', token)
redis.call('SET', KEYS[2], token, 'PX', 86400000)
redis.call('SET', KEYS[1], token, 'PX', ARGV[1])
return {token, 0, '', token}
`)

// renewScript prolongs the lease of a token, and returns 0 if it is lost.
var renewScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`)

// tellScript ends the lease of a token, or lets it run out after at least
// ARGV[3] ms, and publishes the verdict unless a later lease has been granted.
// It returns 1 if it did. Who may not publish still leaves the verdict for those that ask.
var tellScript = redis.NewScript(`
local mine = redis.call('GET', KEYS[1]) == ARGV[1]
local verdict = ARGV[2]
if mine and (verdict == 'unused' or verdict == 'recovered') then
  redis.call('DEL', KEYS[1])
end
if mine and verdict == 'reopened' and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
if verdict == 'unused' or redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[3], ARGV[1] .. ' ' .. verdict, 'PX', 60000)
redis.pcall('PUBLISH', ARGV[4], ARGV[5])
return 1
`)

// acquired is what acquireScript returns.
type acquired struct {
	token   uint64 // 0: not granted
	owner   uint64 // the token of the lease that is out; 0: it is no number
	wait    time.Duration
	verdict string
}

func (f *Fleet) acquire(ctx context.Context, k keys) (acquired, error) {
	reply, err := acquireScript.Run(ctx, f.client, []string{k.lease, k.fence, k.verdict}, milliseconds(f.ttl)).Slice()
	if err != nil {
		return acquired{}, err
	}
	if len(reply) == 4 {
		token, isText := reply[0].(string)
		wait, isNumber := reply[1].(int64)
		verdict, isVerdict := reply[2].(string)
		out, isOwner := reply[3].(string)
		n, err := strconv.ParseUint(token, 10, 64)
		if isText && isNumber && isVerdict && isOwner && err == nil {
			owner, _ := strconv.ParseUint(out, 10, 64)
			return acquired{n, owner, time.Duration(wait) * time.Millisecond, verdict}, nil
		}
	}
	return acquired{}, fmt.Errorf("breakerredis: Redis answered %v", reply)
}

func (f *Fleet) renew(ctx context.Context, k keys, token uint64) (bool, error) {
	n, err := renewScript.Run(ctx, f.client, []string{k.lease}, token, milliseconds(f.ttl)).Int()
	return n == 1, err
}

func (f *Fleet) tell(ctx context.Context, k keys, name string, n breakerlease.News) error {
	m := message{from: f.id, token: n.Token, verdict: n.Verdict.String(), name: name}
	return tellScript.Run(ctx, f.client, []string{k.lease, k.fence, k.verdict},
		n.Token, m.verdict, milliseconds(n.Cooldown/fleetCooldown), f.channel, m.String()).Err()
}

// fleetCooldown: after a probe that failed, the fleet waits for a tenth of the
// cooldown of the breaker that probed, if that is longer than the TTL. Fifty
// breakers for themselves would send five times as many probes.
const fleetCooldown = 10

func milliseconds(d time.Duration) int64 { return max(d.Milliseconds(), 1) }
