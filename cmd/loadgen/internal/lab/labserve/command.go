package labserve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab"
)

// Command is what loadgen lists.
var Command = frame.Command{
	Name:    "lab",
	Summary: "a page to play with: dependency, callers, incident, and what breakers make of them",
	OnCall:  true,
	About: `
loadgen lab [flags]

Serves a page on this machine to play with. Set a dependency, its callers and an
incident, and see within a second what this breaker, a classic one, gobreaker and
no breaker make of it; try settings, read what is worth a second look in them, and
copy them as Go or YAML. The address of the page reproduces what you see. The
breaker is the real one; callers, dependency and time are simulated.

  loadgen lab                          then open http://` + address + `/
  loadgen lab -still surge.svg         a picture of it instead, light or dark as its viewer is
  loadgen lab -still dead.svg -setup 'incident=dead&queue=200'
  loadgen lab -files DIR               the page's static files; make lab adds the simulator`,
	Declare: func(fs *flag.FlagSet) frame.Job { return declare(fs) },
}

// address is where the page is served, unless one says otherwise.
const address = "127.0.0.1:8098"

// job is the command with its flags.
type job struct{ address, still, setup, files string }

// declare registers the flags.
func declare(fs *flag.FlagSet) *job {
	j := &job{}
	fs.StringVar(&j.address, "address", address, "serve the page at this `address` of the machine's loopback, HOST:PORT or :PORT")
	fs.StringVar(&j.still, "still", "", "write a picture as SVG to `FILE` instead")
	fs.StringVar(&j.setup, "setup", "", "what the picture shows: the `QUERY` of a page's address, from its ? on")
	fs.StringVar(&j.files, "files", "", "write the page's files for any web server into this `DIR` instead")
	return j
}

// Validate finds every fault of the flags.
func (j *job) Validate() error {
	var faults []error
	host, port, err := net.SplitHostPort(j.address)
	switch ip := net.ParseIP(host); {
	case err != nil:
		faults = append(faults, fmt.Errorf("-address is %q, want HOST:PORT or :PORT", j.address))
	case host == "":
		j.address = net.JoinHostPort("127.0.0.1", port)
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		faults = append(faults, fmt.Errorf("-address is %q, want a loopback host such as 127.0.0.1", j.address))
	}
	if j.still != "" && j.files != "" {
		faults = append(faults, errors.New("-still and -files exclude each other"))
	}
	if j.setup != "" && j.still == "" {
		faults = append(faults, errors.New("-setup needs -still"))
	}
	if _, err := lab.Parse(j.setup); err != nil {
		faults = append(faults, fmt.Errorf("-setup: %w", err))
	}
	return errors.Join(faults...)
}

// Run does what the flags say. The page is served until ctx ends.
func (j *job) Run(ctx context.Context, r *frame.Report) error {
	switch {
	case j.still != "":
		return j.writeStill()
	case j.files != "":
		return writeFiles(j.files)
	}
	return j.serve(ctx, r.Console.Printf)
}

func (j *job) writeStill() error {
	s, err := lab.Parse(j.setup)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := lab.WriteStill(&b, s); err != nil {
		return err
	}
	return os.WriteFile(j.still, []byte(b.String()), 0o644)
}

func writeFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var index strings.Builder
	if err := writeIndex(&index, engineWASM); err != nil {
		return err
	}
	all := files()
	all["index.html"] = []byte(index.String())
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) serve(ctx context.Context, printf func(string, ...any)) error {
	handler, err := Handler()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", j.address)
	if err != nil {
		return fmt.Errorf("cannot serve the page: %w; choose another port with -address", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16, ErrorLog: log.New(io.Discard, "", 0),
	}
	printf("the lab: http://%s/  (Ctrl-C ends it)\n", listener.Addr())
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
