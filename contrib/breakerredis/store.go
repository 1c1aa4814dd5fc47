package breakerredis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/redis/go-redis/v9"
)

// Store is a breakerlease.Store on Redis.
type Store struct {
	client redis.UniversalClient
	prefix string
	ring   bool // a message published by a script stays on the script's shard
}

var _ breakerlease.Store = (*Store)(nil)

// NewStore returns a Store. See [Options] for the prefix; empty is its default.
func NewStore(client redis.UniversalClient, prefix string) (*Store, error) {
	if prefix == "" {
		prefix = defaultPrefix
	}
	var faults []error
	if client == nil {
		faults = append(faults, errors.New("breakerredis: Client is nil, want one, made with the options that Tuned returns"))
	} else if !givesUp(client) {
		faults = append(faults, errors.New("breakerredis: Client has ContextTimeoutEnabled false, so that it does not give up in time: want true, see Tuned"))
	}
	if strings.ContainsAny(prefix, "{}") {
		faults = append(faults, fmt.Errorf("breakerredis: Prefix is %q, want no braces: they choose the slot in a Cluster", prefix))
	}
	_, ring := client.(*redis.Ring)
	return &Store{client, prefix, ring}, errors.Join(faults...)
}

// The keys of a name have one hash tag, so that a Cluster keeps them in one
// slot, where a script may use them all.
//
//	{prefix:name}:lease    the token of the lease that is out, a space, and who has it; lives for its TTL
//	{prefix:name}:fence    the last token; lives for a day without leases
//	{prefix:name}:verdict  the last message; lives for a minute
func (s *Store) keys(name string) (lease, fence, verdict string) {
	tag := "{" + s.prefix + ":" + url.QueryEscape(name) + "}" // a brace in the name would end the tag
	return tag + ":lease", tag + ":fence", tag + ":verdict"
}

// Acquire implements breakerlease.Store.
func (s *Store) Acquire(ctx context.Context, r breakerlease.Request) (breakerlease.Acquired, error) {
	lease, fence, verdict := s.keys(r.Name)
	reply, err := acquireScript.Run(ctx, s.client, []string{lease, fence, verdict},
		milliseconds(r.TTL), milliseconds(r.Limit), rand.Text(), r.Holder).Slice()
	if err != nil {
		return breakerlease.Acquired{}, err
	}
	if len(reply) == 5 {
		granted, isNumber := reply[0].(int64)
		left, isNumber2 := reply[1].(int64)
		value, isText := reply[2].(string)
		message, isText2 := reply[3].(string)
		replaced, isNumber3 := reply[4].(int64)
		if isNumber && isNumber2 && isText && isText2 && isNumber3 {
			token, holder, _ := strings.Cut(value, " ")
			return breakerlease.Acquired{
				Granted: granted == 1, Token: tokenOf(token), Left: time.Duration(left) * time.Millisecond,
				Holder: holder, Message: message, Replaced: replaced == 1,
			}, nil
		}
	}
	return breakerlease.Acquired{}, fmt.Errorf("breakerredis: Redis answered %v", reply)
}

// tokenOf reads a token; what is none is the zero Token.
func tokenOf(text string) breakerlease.Token {
	epoch, number, ok := strings.Cut(text, ".")
	n, err := strconv.ParseUint(number, 10, 62)
	if !ok || err != nil {
		return breakerlease.Token{}
	}
	return breakerlease.Token{Epoch: epoch, Number: n}
}

// Renew implements breakerlease.Store.
func (s *Store) Renew(ctx context.Context, name string, t breakerlease.Token, ttl time.Duration) (bool, error) {
	lease, _, _ := s.keys(name)
	n, err := renewScript.Run(ctx, s.client, []string{lease}, t.String(), milliseconds(ttl)).Int()
	return n == 1, err
}

// End implements breakerlease.Store.
func (s *Store) End(ctx context.Context, name string, t breakerlease.Token, e breakerlease.Ending) error {
	lease, fence, verdict := s.keys(name)
	channel, release := s.prefix, 0
	if s.ring {
		channel = ""
	}
	if e.Release {
		release = 1
	}
	least, most := int64(0), int64(0)
	if e.Least > 0 || e.Most > 0 {
		least, most = milliseconds(e.Least), milliseconds(e.Most)
	}
	told, err := endScript.Run(ctx, s.client, []string{lease, fence, verdict},
		t.String(), release, least, most, e.Message, channel).Int()
	if err == nil && told == 1 && s.ring {
		err = s.Publish(ctx, e.Message)
	}
	return err
}

// Publish implements breakerlease.Store.
func (s *Store) Publish(ctx context.Context, message string) error {
	return s.client.Publish(ctx, s.prefix, message).Err()
}

// Warm implements breakerlease.Store.
func (s *Store) Warm(ctx context.Context) error {
	load := func(ctx context.Context, c *redis.Client) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, script := range []*redis.Script{acquireScript, renewScript, endScript} {
				script.Load(ctx, p)
			}
			return nil
		})
		return err
	}
	switch c := s.client.(type) {
	case *redis.Client:
		return load(ctx, c)
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, load)
	case *redis.Ring:
		return c.ForEachShard(ctx, load)
	}
	return s.client.Ping(ctx).Err()
}

// silence is after how long without a message the listener asks whether its
// connection lives.
const silence = time.Second

// Listen implements breakerlease.Store.
func (s *Store) Listen(ctx context.Context, listening func(), heard func(string)) error {
	sub := s.client.Subscribe(ctx)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends a wait for a message
	begin, cancel := context.WithTimeout(ctx, silence)
	err := sub.Subscribe(begin, s.prefix)
	cancel()
	asked := false
	for err == nil {
		var got any
		got, err = sub.ReceiveTimeout(ctx, silence)
		switch got := got.(type) {
		case *redis.Subscription:
			listening()
		case *redis.Message:
			heard(got.Payload)
		}
		var timeout net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && ctx.Err() == nil:
			asked = true
			ping, cancel := context.WithTimeout(ctx, silence)
			err = sub.Ping(ping)
			cancel()
		}
	}
	return err
}

func milliseconds(d time.Duration) int64 { return max(d.Milliseconds(), 1) }
