// Package overlay builds and tests changed copies of the breaker without
// touching its files: the go command's -overlay option replaces them, one by
// one, for a single build. It serves three ends: mutations, to see that a check
// fails where the code is broken; instrumentation, to run the real code
// under a scheduler of our own; and recording, to see what it does to memory.
package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// link has the linker keep the breaker's code. The go command runs a test
// again if its binary differs, and the binary of a test that builds changed copies
// differs when the originals do only if it holds them.
var link = sync.OnceFunc(func() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	_ = b.Do(context.Background(), func(context.Context) error { return errors.New("failed") })
	b.Trip()
	b.SetMode(atomicbreaker.Auto)
	b.Reset()
	_ = b.Snapshot()
})

// An Edit replaces the one occurrence of Old in a file by New.
type Edit struct {
	File     string // relative to the root of the breaker's module
	Old, New string
}

// Shim is the package that replaces sync/atomic in an instrumented build.
const Shim = "github.com/atomicbreaker/breaker/verify/shim/atomic"

var (
	instrumented = []string{"atomicbreaker", "ring"}

	// unscheduled is left as it is: reading the settings is no step of a schedule. A
	// breaker reads them so often that there would be many times as many schedules.
	unscheduled = "settings.go"

	// stackHash is how the ring tells goroutines apart. Addresses of stacks
	// differ from run to run; a scheduler needs the same stripe each time.
	stackHash = Edit{
		File: "ring/stripe.go",
		Old:  "page := uint64(uintptr(unsafe.Pointer(&here))) >> 11",
		New:  "_ = here\n\tpage := atomic.Actor.Load()",
	}
)

// Root returns the directory of the breaker's module.
var Root = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/atomicbreaker/breaker").Output()
	if err != nil {
		return "", fmt.Errorf("overlay: find the breaker's module: %w; run from inside its checkout", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// A Build is a set of changed files.
type Build struct {
	root  string
	dir   string
	files map[string]string // text by absolute path
	tags  []string
}

// New returns a Build with the edits made, or an error that names the edit
// whose text is not there exactly once: the source has changed under it.
func New(edits ...Edit) (*Build, error) {
	link()
	root, err := Root()
	if err != nil {
		return nil, err
	}
	b := &Build{root: root, files: map[string]string{}}
	for _, e := range edits {
		if err := b.edit(e); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Build) read(file string) (path, text string, err error) {
	path = filepath.Join(b.root, filepath.FromSlash(file))
	if text, ok := b.files[path]; ok {
		return path, text, nil
	}
	raw, err := os.ReadFile(path)
	return path, string(raw), err
}

func (b *Build) edit(e Edit) error {
	path, text, err := b.read(e.File)
	if err != nil {
		return err
	}
	if n := strings.Count(text, e.Old); n != 1 {
		return fmt.Errorf("overlay: %s has %d times %q, want once: bring the edit up to date with the source", e.File, n, e.Old)
	}
	b.files[path] = strings.Replace(text, e.Old, e.New, 1)
	return nil
}

// Instrument replaces sync/atomic by the shim in the breaker and the ring.
// Tests of the result need the build tag interleave.
func (b *Build) Instrument() error {
	for _, dir := range instrumented {
		names, err := filepath.Glob(filepath.Join(b.root, dir, "*.go"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == unscheduled {
				continue
			}
			_, text, err := b.read(dir + "/" + filepath.Base(name))
			if err != nil {
				return err
			}
			if strings.Contains(text, `"sync/atomic"`) {
				b.files[name] = strings.Replace(text, `"sync/atomic"`, `"`+Shim+`"`, 1)
			}
		}
	}
	b.tags = append(b.tags, "interleave")
	return b.edit(stackHash)
}

// write puts the files and the overlay's description into a directory of
// their own and returns the description's path.
func (b *Build) write() (string, error) {
	dir, err := os.MkdirTemp("", "overlay")
	if err != nil {
		return "", err
	}
	b.dir = dir
	replace := map[string]string{}
	for path, text := range b.files {
		rel, err := filepath.Rel(b.root, path)
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, strings.ReplaceAll(filepath.ToSlash(rel), "/", "__"))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[path] = to
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o644)
}

// Close removes what the build has written.
func (b *Build) Close() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// Result is what a run of go test came to.
type Result struct {
	Passed bool
	Built  bool // false: it did not even compile
	Output string
}

// Test runs go test with the changed files. dir is relative to the breaker's
// module: "." for its own packages, "verify" for this module's. The error is
// of running the command, not of the tests.
func (b *Build) Test(ctx context.Context, dir string, env []string, args ...string) (Result, error) {
	path, err := b.write()
	if err != nil {
		return Result{}, err
	}
	all := []string{"test", "-overlay", path}
	if len(b.tags) > 0 {
		all = append(all, "-tags", strings.Join(b.tags, ","))
	}
	cmd := exec.CommandContext(ctx, "go", append(all, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(dir))
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	text := string(out)
	_, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && !exited {
		return Result{Output: text}, fmt.Errorf("overlay: go test: %w", err)
	}
	failed := strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]")
	return Result{Passed: err == nil, Built: !failed, Output: text}, nil
}
