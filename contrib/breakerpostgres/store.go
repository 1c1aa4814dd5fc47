package breakerpostgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Schema makes what a Store needs, if it is not there.
const Schema = `CREATE TABLE IF NOT EXISTS circuitbreaker_lease (
	fleet   text        NOT NULL,
	name    text        NOT NULL,
	epoch   text        NOT NULL, -- of the numbers; made with the row, and lost with it
	number  bigint      NOT NULL, -- of the last lease
	holder  text        NOT NULL,
	until   timestamptz NOT NULL, -- of that lease
	message text        NOT NULL, -- what was found out under it
	PRIMARY KEY (fleet, name)
)`

// Store is a breakerlease.Store on PostgreSQL.
type Store struct {
	pool  *pgxpool.Pool
	fleet string
}

var _ breakerlease.Store = (*Store)(nil)

var fleetName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// NewStore returns a Store. The pool stays the caller's. Fleets with different
// names do not see each other; the name is also the channel's: up to 40 lower
// case letters, digits and underscores. Default: circuitbreaker.
func NewStore(pool *pgxpool.Pool, fleet string) (*Store, error) {
	if fleet == "" {
		fleet = "circuitbreaker"
	}
	var faults []error
	if pool == nil {
		faults = append(faults, errors.New("breakerpostgres: the pool is nil, want one"))
	}
	if !fleetName.MatchString(fleet) {
		faults = append(faults, fmt.Errorf("breakerpostgres: the fleet is named %q, want a letter and up to 39 letters, digits and underscores, in lower case", fleet))
	}
	return &Store{pool, fleet}, errors.Join(faults...)
}

// Migrate makes the table if it is not there.
func (s *Store) Migrate(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, Schema)
	return err
}

// Every statement is one round trip: the types of its arguments are told with
// it instead of asked for.
const once = pgx.QueryExecModeExec

// acquireSQL grants the lease if it is over, or lives for longer than any
// does. The row that a refusal shows may be older than the refusal.
const acquireSQL = `WITH old AS (
	SELECT * FROM circuitbreaker_lease WHERE fleet = $1 AND name = $2
), got AS (
	INSERT INTO circuitbreaker_lease AS l (fleet, name, epoch, number, holder, until, message)
	VALUES ($1, $2, $3, 1, $4, clock_timestamp() + $5::bigint * interval '1 microsecond', '')
	ON CONFLICT (fleet, name) DO UPDATE
	SET number = l.number + 1, holder = excluded.holder, until = excluded.until, message = ''
	WHERE l.until <= clock_timestamp() OR l.until > clock_timestamp() + $6::bigint * interval '1 microsecond'
	RETURNING epoch, number
)
SELECT true, got.epoch, got.number, 0::bigint, '', '',
	coalesce((SELECT until > clock_timestamp() + $6::bigint * interval '1 microsecond' FROM old), false)
FROM got
UNION ALL
SELECT false, epoch, number, (extract(epoch FROM until - clock_timestamp()) * 1000000)::bigint, holder, message, false
FROM old WHERE NOT EXISTS (SELECT FROM got)`

// Acquire implements breakerlease.Store.
func (s *Store) Acquire(ctx context.Context, r breakerlease.Request) (a breakerlease.Acquired, err error) {
	var number, left int64
	err = s.pool.QueryRow(ctx, acquireSQL, once, s.fleet, r.Name, rand.Text(), r.Holder, microseconds(r.TTL), microseconds(r.Limit)).
		Scan(&a.Granted, &a.Token.Epoch, &number, &left, &a.Holder, &a.Message, &a.Replaced)
	if errors.Is(err, pgx.ErrNoRows) { // another has just made the row
		return breakerlease.Acquired{Left: time.Millisecond}, nil
	}
	if err != nil {
		return breakerlease.Acquired{}, err
	}
	a.Token.Number = uint64(number)
	if !a.Granted {
		a.Left = max(time.Duration(left)*time.Microsecond, time.Millisecond)
	}
	return a, nil
}

// Renew implements breakerlease.Store.
func (s *Store) Renew(ctx context.Context, name string, t breakerlease.Token, ttl time.Duration) (bool, error) {
	tag, err := s.pool.Exec(ctx, `UPDATE circuitbreaker_lease
		SET until = clock_timestamp() + $5::bigint * interval '1 microsecond'
		WHERE fleet = $1 AND name = $2 AND epoch = $3 AND number = $4::bigint AND until > clock_timestamp()`,
		once, s.fleet, name, t.Epoch, int64(t.Number), microseconds(ttl))
	return tag.RowsAffected() == 1, err
}

// endSQL ends the lease or lets it run out, keeps the message and publishes
// it, unless a later lease has been granted.
const endSQL = `WITH ended AS (
	UPDATE circuitbreaker_lease SET
		until = CASE
			WHEN $5 THEN least(until, clock_timestamp())
			WHEN $7::bigint > 0 AND until > clock_timestamp() THEN greatest(
				least(until, clock_timestamp() + $7::bigint * interval '1 microsecond'),
				clock_timestamp() + $6::bigint * interval '1 microsecond')
			ELSE until
		END,
		message = CASE WHEN $8::text = '' THEN message ELSE $8::text END
	WHERE fleet = $1 AND name = $2 AND epoch = $3 AND number = $4::bigint
	RETURNING 1
)
SELECT pg_notify($1::text, $8::text) FROM ended WHERE $8::text <> ''`

// End implements breakerlease.Store.
func (s *Store) End(ctx context.Context, name string, t breakerlease.Token, e breakerlease.Ending) error {
	_, err := s.pool.Exec(ctx, endSQL, once, s.fleet, name, t.Epoch, int64(t.Number),
		e.Release, e.Least.Microseconds(), e.Most.Microseconds(), e.Message)
	return err
}

// Publish implements breakerlease.Store. A message may have 7999 bytes.
func (s *Store) Publish(ctx context.Context, message string) error {
	_, err := s.pool.Exec(ctx, `SELECT pg_notify($1::text, $2::text)`, once, s.fleet, message)
	return err
}

// silence is after how long without a message the listener asks whether its
// connection lives.
const silence = time.Second

// Listen implements breakerlease.Store, on a connection of its own.
func (s *Store) Listen(ctx context.Context, listening func(), heard func(string)) error {
	begin, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	conn, err := pgx.ConnectConfig(begin, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), silence/10)
		defer cancel()
		_ = conn.Close(end)
	}()
	if _, err := conn.Exec(begin, "LISTEN "+pgx.Identifier{s.fleet}.Sanitize()); err != nil {
		return err
	}
	listening()
	for ctx.Err() == nil {
		if err := s.hear(ctx, conn, heard); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// hear waits for one message, and without one asks whether the connection lives.
func (s *Store) hear(ctx context.Context, conn *pgx.Conn, heard func(string)) error {
	wait, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := conn.WaitForNotification(wait)
	if err == nil {
		heard(n.Payload)
		return nil
	}
	if ctx.Err() != nil || wait.Err() == nil || conn.IsClosed() {
		return err
	}
	ping, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return conn.Ping(ping)
}

// Warm implements breakerlease.Store.
func (s *Store) Warm(ctx context.Context) error { return s.pool.Ping(ctx) }

func microseconds(d time.Duration) int64 { return max(d.Microseconds(), 1) }
