// Package atomic_test looks at the module from outside: it holds what the
// README promises against the packages, what ARCHITECTURE.md says of the folders
// against the imports, and drives breakers as the callers of a real endpoint do.
package atomic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

const module = "github.com/atomicbreaker/breaker"

// goCommand runs the go command at the root and returns what it prints.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.Command("go", args...)
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), stderr.String())
	return string(out)
}

// A folder is a line of the table of folders in ARCHITECTURE.md.
type folder struct {
	pattern string   // of the directory, as in path.Match; what lies in it belongs to it
	imports []string // of ours
	above   bool     // it may import all folders above it
}

func (f folder) holds(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if ok, _ := path.Match(f.pattern, dir); ok {
			return true
		}
	}
	return false
}

var folderLine = regexp.MustCompile("^\\| `([a-z/*]+)` \\| .* \\| (.*) ?\\|$")

func folders(t *testing.T) (all []folder) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		m := folderLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !strings.HasSuffix(m[1], "/") && !strings.HasSuffix(m[1], "*") {
			continue
		}
		f := folder{pattern: strings.TrimSuffix(m[1], "/")}
		switch imports := strings.TrimSpace(m[2]); imports {
		case "":
		case "the above":
			f.above = true
		default:
			f.imports = strings.Split(imports, ", ")
		}
		all = append(all, f)
	}
	return all
}

// folderOf returns the number of the folder that a directory belongs to: the
// one with the longest pattern.
func folderOf(all []folder, dir string) int {
	best := -1
	for i, f := range all {
		if f.holds(dir) && (best < 0 || len(f.pattern) > len(all[best].pattern)) {
			best = i
		}
	}
	return best
}

// TestImportsPointDown holds the table of ARCHITECTURE.md against what the
// packages import.
func TestImportsPointDown(t *testing.T) {
	all := folders(t)
	require.Greater(t, len(all), 8, "the table was not found")
	packages := 0
	for line := range strings.Lines(goCommand(t, "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "work")) {
		fields := strings.Fields(line)
		dir := strings.TrimPrefix(strings.TrimPrefix(fields[0], module), "/")
		if dir == "" {
			continue // this test
		}
		packages++
		from := folderOf(all, dir)
		require.GreaterOrEqual(t, from, 0, "%s is in no folder of the table", dir)
		for _, imported := range fields[1:] {
			target, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			to := folderOf(all, target)
			f := all[from]
			allowed := to == from || f.above && to < from ||
				slices.ContainsFunc(f.imports, func(x string) bool { return folderOf(all, x) == to })
			require.True(t, allowed, "%s imports %s", dir, target)
			require.LessOrEqual(t, to, from, "%s imports %s, which is below it in the table", dir, target)
		}
	}
	require.Greater(t, packages, 8)
}

// TestCoreDependsOnLittle names every package that is not of the standard
// library and that a program with a breaker in it links.
func TestCoreDependsOnLittle(t *testing.T) {
	for dir, want := range map[string][]string{
		"clock":         {"github.com/loov/hrtime", module + "/clock"},
		"ring":          {"golang.org/x/sys/cpu", module + "/ring"},
		"atomicbreaker": {"github.com/loov/hrtime", "golang.org/x/sys/cpu", module + "/atomicbreaker", module + "/clock", module + "/ring"},
	} {
		got := strings.Fields(goCommand(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+dir))
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, dir)
	}
}

// TestCoreModuleRequiresLittle: what go.mod may name, and what it may not hold.
func TestCoreModuleRequiresLittle(t *testing.T) {
	var mod struct {
		Go        string
		Toolchain string
		Require   []struct {
			Path     string
			Indirect bool
		}
		Replace, Exclude, Tool []any
	}
	require.NoError(t, json.Unmarshal([]byte(goCommand(t, "mod", "edit", "-json", "go.mod")), &mod))
	require.Equal(t, "1.26.0", mod.Go)
	require.Empty(t, mod.Toolchain)
	require.Empty(t, mod.Replace)
	require.Empty(t, mod.Exclude)
	require.Empty(t, mod.Tool)
	allowed := []string{"github.com/loov/hrtime", "golang.org/x/sys", "github.com/stretchr/testify"}
	for _, r := range mod.Require {
		require.True(t, r.Indirect || slices.Contains(allowed, r.Path), "requires %s", r.Path)
	}
}

func TestRootHoldsThisFileAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Equal(t, []string{"atomic_test.go"}, files)
}

// TestDocumentsNameTestsThatExist: a reader who looks for a test finds it.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	defined := make(map[string]bool)
	name := regexp.MustCompile(`(?m)^func (Test\w+|Example\w+|Fuzz\w+|Benchmark\w+)\(`)
	var documents []string
	require.NoError(t, filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(file, "_test.go"):
			text, err := os.ReadFile(file)
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				defined[m[1]] = true
			}
			return err
		case strings.HasSuffix(file, ".md"):
			documents = append(documents, file)
		}
		return nil
	}))
	documents = append(documents, "atomicbreaker/word.go")
	named := regexp.MustCompile(`\bTest[A-Z]\w+`)
	found := 0
	for _, file := range documents {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, test := range named.FindAllString(string(text), -1) {
			found++
			require.True(t, defined[test], "%s names %s", file, test)
		}
	}
	require.Positive(t, found)
}

// guaranteeLine is a line of the table of guarantees in ARCHITECTURE.md: its
// number, where it is kept, tests, mutants and proofs.
var guaranteeLine = regexp.MustCompile(`(?m)^\| ([GI]\d+a?) \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)

// TestGuaranteesAreKept: every guarantee and every invariant has a line, and
// what the line names exists. Whether the tests are there is seen by
// TestDocumentsNameTestsThatExist.
func TestGuaranteesAreKept(t *testing.T) {
	read := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if !strings.HasSuffix(file, "_test.go") {
				all.Write(text)
			}
		}
		return all.String()
	}
	core := read("atomicbreaker/*.go") + read("ring/*.go")
	mutations, parts := read("verify/internal/mutation/*.go"), read("verify/run.sh")
	code, mutant := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`\*([^*]+)\*`)

	var want, got []string
	for n := range 17 {
		want = append(want, fmt.Sprint("G", n+1))
	}
	for n := range 11 {
		want = append(want, fmt.Sprint("I", n+1))
		if n+1 == 5 {
			want = append(want, "I5a")
		}
	}
	for _, m := range guaranteeLine.FindAllStringSubmatch(read("ARCHITECTURE.md"), -1) {
		number, kept, tests, mutants, proofs := m[1], code.FindAllStringSubmatch(m[2], -1), m[3], mutant.FindAllStringSubmatch(m[4], -1), m[5]
		got = append(got, number)
		require.NotEmpty(t, kept, number)
		for _, k := range kept {
			if strings.HasSuffix(k[1], ".go") {
				_, core := os.Stat("atomicbreaker/" + k[1])
				_, ring := os.Stat("ring/" + k[1])
				require.True(t, core == nil || ring == nil, "%s is kept in %s, which is no file", number, k[1])
				continue
			}
			name := k[1][strings.LastIndex(k[1], ".")+1:]
			declared := regexp.MustCompile(`func (\([^)]*\) )?` + name + `[(\[]`)
			require.True(t, declared.MatchString(core), "%s is kept in %s, which is no function", number, k[1])
		}
		require.Contains(t, tests, "`Test", number)
		require.NotEmpty(t, mutants, number)
		for _, name := range mutants {
			require.True(t, strings.Contains(mutations, fmt.Sprintf(", %q,", name[1])), "no mutant of %s is named %q", number, name[1])
		}
		for proof := range strings.SplitSeq(proofs, ", ") {
			require.True(t, proof == "none" || strings.Contains(parts, "\n"+proof+"() {"), "%s is proved by %s, which is no part of verify/run.sh", number, proof)
		}
	}
	require.Equal(t, want, got)
}

// TestEveryPartOfVerifyHasALine: what verify/run.sh runs is in the table of
// claims, and the other way round.
func TestEveryPartOfVerifyHasALine(t *testing.T) {
	names := func(file, pattern string) []string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var found []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, regexp.MustCompile(`\w+`).FindAllString(m[1], -1)...)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	parts := names("verify/run.sh", `(?m)^(\w+)\(\) \{$`)
	require.Greater(t, len(parts), 8)
	require.Equal(t, parts, names("verify/README.md", "(?m)^\\|.*\\| (`\\w+`(?:, `\\w+`)*) \\| [^|]+ \\|$"))
}

// TestFirstProgramOfTheREADME runs the first program of the README as it is written
// and holds what it prints against what the README says.
func TestFirstProgramOfTheREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, after, found := strings.Cut(program, "```")
	require.True(t, found)
	require.Contains(t, after, "prints `connection refused` ten times")
	require.Contains(t, after, "prints `refused, nothing was sent` twice")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o666))
	var want strings.Builder
	for call := range 12 {
		said := "connection refused"
		if call >= 10 {
			said = "refused, nothing was sent"
		}
		fmt.Fprintln(&want, call+1, said)
	}
	require.Equal(t, want.String(), goCommand(t, "run", file))
}

// onManual returns a breaker on a clock that stands, without jitter.
func onManual(t *testing.T, c atomicbreaker.Config) (*atomicbreaker.Breaker, *clock.Manual) {
	t.Helper()
	manual := new(clock.Manual)
	c.Clock = manual
	c.Cooldown.Jitter = atomicbreaker.Off
	b, err := atomicbreaker.New(c)
	require.NoError(t, err)
	return b, manual
}

func settle(t *testing.T, b *atomicbreaker.Breaker, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	require.NoError(t, err)
	require.True(t, ticket.Report(o))
}

func TestItClosesAtTheLoadItHasMeasured(t *testing.T) {
	// Behind the breaker is a server that has room for ten calls at once. Twenty
	// callers come every 10 ms. One probe says "well", and so does the next;
	// what is admitted at the end is what the server can do.
	b, manual := onManual(t, atomicbreaker.Config{})
	b.Trip()
	manual.Advance(b.RetryAfter())
	const room, callers = 10, 20
	served, failed := 0, 0
	for round := range 2000 {
		var under []*atomicbreaker.Ticket
		for range callers {
			if ticket, err := b.Acquire(); err == nil {
				under = append(under, &ticket)
			}
		}
		manual.Advance(10 * time.Millisecond)
		for i, ticket := range under {
			if i < room {
				ticket.Report(atomicbreaker.Success)
				served++
			} else {
				ticket.Report(atomicbreaker.Failure)
				failed++
			}
		}
		require.NotEqual(t, atomicbreaker.StateClosed, b.State(), "round %d: twenty at once would be too many", round)
	}
	require.Greater(t, served, 2000*room*6/10)
	require.Less(t, failed, served/4)

	for range 300 { // half of the callers leave
		for range room / 2 {
			if ticket, err := b.Acquire(); err == nil {
				ticket.Report(atomicbreaker.Success)
			}
		}
		manual.Advance(10 * time.Millisecond)
	}
	require.Equal(t, atomicbreaker.StateClosed, b.State())
}

func TestWhatYouWantIsWhatYouWrite(t *testing.T) {
	t.Run("to try it on live traffic first", func(t *testing.T) {
		b, _ := onManual(t, atomicbreaker.Config{Mode: atomicbreaker.Shadow})
		for range 100 {
			settle(t, b, atomicbreaker.Failure)
		}
		s := b.Snapshot()
		require.Equal(t, []any{atomicbreaker.StateOpen, uint64(0), uint64(90)}, []any{s.State, s.Refused(), s.WouldRefuse})
	})
	t.Run("to hold it open or closed", func(t *testing.T) {
		b, _ := onManual(t, atomicbreaker.Config{})
		b.SetMode(atomicbreaker.ForcedOpen)
		_, err := b.Acquire()
		require.ErrorIs(t, err, atomicbreaker.ErrForced)
		b.SetMode(atomicbreaker.ForcedClosed)
		for range 100 {
			settle(t, b, atomicbreaker.Failure)
		}
	})
	t.Run("a server's Retry-After honoured", func(t *testing.T) {
		b, _ := onManual(t, atomicbreaker.Config{ConsecutiveFailures: 1})
		ticket, err := b.Acquire()
		require.NoError(t, err)
		require.True(t, ticket.ReportAfter(atomicbreaker.Failure, 3*time.Second))
		require.Equal(t, 3*time.Second, b.RetryAfter())
	})
	t.Run("the classic rules", func(t *testing.T) {
		b, manual := onManual(t, atomicbreaker.Config{
			ConsecutiveFailures: 1,
			Recovery:            atomicbreaker.Recovery{Probes: 3, Successes: 2, Concurrent: 1},
			Cooldown:            atomicbreaker.Cooldown{Factor: 1},
		})
		settle(t, b, atomicbreaker.Failure)
		manual.Advance(500 * time.Millisecond)
		ticket, err := b.Acquire()
		require.NoError(t, err)
		_, err = b.Acquire()
		require.ErrorIs(t, err, atomicbreaker.ErrProbeLimit)
		require.True(t, ticket.Report(atomicbreaker.Success))
		settle(t, b, atomicbreaker.Success)
		require.Equal(t, atomicbreaker.StateClosed, b.State())
	})
	t.Run("tests without waiting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := atomicbreaker.MustNew(atomicbreaker.Config{ConsecutiveFailures: 1})
			settle(t, b, atomicbreaker.Failure)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, atomicbreaker.StateHalfOpen, b.State())
		})
	})
}

func TestComposition(t *testing.T) {
	t.Run("a refusal ends a loop of retries", func(t *testing.T) {
		b, _ := onManual(t, atomicbreaker.Config{ConsecutiveFailures: 3})
		attempts := 0
		var err error
		for range 10 {
			err = b.Do(t.Context(), func(context.Context) error { attempts++; return errors.New("down") })
			if err == nil || atomicbreaker.IsRejected(err) {
				break
			}
		}
		require.Equal(t, 3, attempts)
		var rejected *atomicbreaker.RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, 500*time.Millisecond, rejected.RetryAfter())
	})
	t.Run("timeouts inside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := atomicbreaker.MustNew(atomicbreaker.Config{})
			wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			err := b.Do(t.Context(), func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				return wait(ctx)
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			leaving, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, leave)
			require.ErrorIs(t, b.Do(leaving, wait), context.Canceled)
			s := b.Snapshot()
			require.Equal(t, []uint64{1, 1}, []uint64{s.Failed, s.Ignored})
		})
	})
	t.Run("nested breakers do not feed each other", func(t *testing.T) {
		outer, _ := onManual(t, atomicbreaker.Config{ConsecutiveFailures: 1})
		inner, _ := onManual(t, atomicbreaker.Config{})
		inner.Trip()
		for range 10 {
			err := outer.Do(t.Context(), func(ctx context.Context) error {
				return inner.Do(ctx, func(context.Context) error { return nil })
			})
			require.True(t, atomicbreaker.IsRejected(err))
		}
		s := outer.Snapshot()
		require.Equal(t, []any{atomicbreaker.StateClosed, uint64(10)}, []any{s.State, s.Ignored})
	})
	t.Run("a call that never returns is never counted", func(t *testing.T) {
		b, manual := onManual(t, atomicbreaker.Config{})
		before := b.Snapshot()
		_, err := b.Acquire()
		require.NoError(t, err)
		manual.Advance(time.Hour)
		after := b.Snapshot()
		after.At = before.At
		require.Equal(t, before, after)
	})
}

// A guard is what a proxy or balancer has in front of an endpoint: it asks
// whether a call may go, as often as it likes, and calls or does not.
type guard interface {
	ask() bool
	call(f func() error) error
}

var errRefused = errors.New("refused")

// ours asks by Ready, which is a question, and calls by Acquire, a claim.
type ours struct{ b *atomicbreaker.Breaker }

func (o ours) ask() bool { return o.b.Ready() }

func (o ours) call(f func() error) error {
	ticket, err := o.b.Acquire()
	if err != nil {
		return errors.Join(errRefused, err)
	}
	err = f()
	ticket.Done(context.Background(), err)
	return err
}

// oursThatClaims is ours in careless hands: each question is an Acquire whose
// ticket is dropped.
type oursThatClaims struct{ ours }

func (o oursThatClaims) ask() bool {
	_, err := o.b.Acquire()
	return err == nil
}

// claiming is the broken one: a classic breaker whose question takes the
// probe's place. Who asks and then does not call never gives it back.
type claiming struct {
	clock     *clock.Manual
	failures  int
	openUntil time.Duration
	open      bool
	probing   bool
	mayCall   bool // the last question was answered by yes
}

func (c *claiming) ask() bool {
	switch {
	case !c.open:
		c.mayCall = true
	case c.clock.Now() < c.openUntil || c.probing:
		c.mayCall = false
	default:
		c.probing, c.mayCall = true, true
	}
	return c.mayCall
}

func (c *claiming) call(f func() error) error {
	if !c.mayCall {
		return errRefused
	}
	err := f()
	c.mayCall, c.probing = false, false
	if err == nil {
		c.failures, c.open = 0, false
		return nil
	}
	if c.failures++; c.open || c.failures >= 5 {
		c.open, c.openUntil = true, c.clock.Now()+500*time.Millisecond
	}
	return err
}

// TestQuestionsStrandNoEndpoint: an endpoint dies and is mended. A caller asks,
// decides not to call, asks again, and then calls.
func TestQuestionsStrandNoEndpoint(t *testing.T) {
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	get := func() error {
		response, err := server.Client().Get(server.URL)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}
	// outage kills and mends the endpoint, and asks once without calling.
	outage := func(t *testing.T, g guard, manual *clock.Manual) {
		down.Store(false)
		require.True(t, g.ask())
		require.NoError(t, g.call(get))
		down.Store(true)
		for range 5 {
			require.True(t, g.ask())
			require.Error(t, g.call(get))
		}
		require.False(t, g.ask(), "five failures in a row open it")
		require.ErrorIs(t, g.call(get), errRefused)
		down.Store(false)
		manual.Advance(500 * time.Millisecond)
		require.True(t, g.ask(), "it would let a probe through")
		// The caller has found another endpoint and does not call.
	}
	recovers := func(t *testing.T, g guard, manual *clock.Manual) time.Duration {
		mended := manual.Now()
		for manual.Now() < mended+10*time.Second {
			if g.ask() && g.call(get) == nil {
				return manual.Now() - mended
			}
			manual.Advance(100 * time.Millisecond)
		}
		return -1
	}
	config := atomicbreaker.Config{ConsecutiveFailures: 5}

	t.Run("ours, by Ready", func(t *testing.T) {
		b, manual := onManual(t, config)
		outage(t, ours{b}, manual)
		require.Zero(t, recovers(t, ours{b}, manual), "the very next one may call")
		manual.Advance(2 * time.Second)
		require.Equal(t, atomicbreaker.StateClosed, b.State())
	})
	t.Run("ours, by Acquire and a dropped ticket", func(t *testing.T) {
		b, manual := onManual(t, config)
		outage(t, oursThatClaims{ours{b}}, manual)
		took := recovers(t, ours{b}, manual)
		require.GreaterOrEqual(t, took, time.Duration(0), "it never let another one through")
		require.LessOrEqual(t, took, time.Second, "a silence of Recovery.Quiet lets one more in")
	})
	t.Run("one whose question claims", func(t *testing.T) {
		manual := new(clock.Manual)
		g := &claiming{clock: manual}
		outage(t, g, manual)
		require.Negative(t, recovers(t, g, manual), "the broken variant is not broken: this test shows nothing")
		manual.Advance(10 * time.Minute)
		require.False(t, g.ask(), "the broken variant is not broken: this test shows nothing")
		require.ErrorIs(t, g.call(get), errRefused)
		require.NoError(t, get(), "while the endpoint is well")
	})
}
