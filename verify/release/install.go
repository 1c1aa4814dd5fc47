package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// program is a user's first, in a module of its own.
const program = `package main

import (
	"context"
	"fmt"

	"%[1]s/atomicbreaker"
)

func main() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "inventory"})
	n, err := atomicbreaker.Do(context.Background(), b, func(context.Context) (int, error) { return 42, nil })
	fmt.Println(n, err, b.Snapshot().Succeeded)
}
`

// install: a program outside of this repository can require every module and
// import every package of it, and install its commands.
func (r *release) install() error {
	dir := filepath.Join(filepath.Dir(r.tree), "program")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	in := func(args ...string) (string, error) { return output(dir, r.env(), "go", args...) }
	if err := os.WriteFile(filepath.Join(dir, "main.go"), fmt.Appendf(nil, program, r.modules[0].path), 0o644); err != nil {
		return err
	}
	if _, err := in("mod", "init", "example.com/program"); err != nil {
		return err
	}
	if _, err := in("get", r.modules[0].path+"@"+r.version); err != nil {
		return err
	}
	if said, err := in("run", "."); err != nil || said != "42 <nil> 1" {
		return errors.Join(err, fmt.Errorf("the program printed %q", said))
	}
	if err := r.leastOf(dir); err != nil {
		return err
	}
	return r.each(func(m *module) error { return r.installModule(dir, m) })
}

// leastOf: who requires the core gets nothing else of this repository, and no
// more than what its go.mod lists.
func (r *release) leastOf(dir string) error {
	list, err := output(dir, r.env(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	if err != nil {
		return err
	}
	for _, path := range strings.Fields(list) {
		if path != "example.com/program" && path != r.modules[0].path && !r.modules[0].requires(path) {
			return fmt.Errorf("the program links %s, which the core does not require", path)
		}
	}
	return nil
}

// installModule requires a module in a program, imports all of its packages, and
// installs its commands.
func (r *release) installModule(dir string, m *module) error {
	libraries, commands, err := r.packages(m)
	if err != nil {
		return err
	}
	sub := filepath.Join(filepath.Dir(dir), "uses", strings.ReplaceAll(m.dir, "/", "-"))
	if err := os.MkdirAll(sub, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, l := range libraries {
		fmt.Fprintf(&b, "\t_ %q\n", l)
	}
	b.WriteString(")\n\nfunc main() {}\n")
	if err := os.WriteFile(filepath.Join(sub, "main.go"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	in := func(args ...string) error {
		_, err := output(sub, append(r.env(), "GOBIN="+filepath.Join(sub, "bin")), "go", args...)
		return err
	}
	if err := in("mod", "init", "example.com/uses"); err != nil {
		return err
	}
	if err := in("get", m.path+"@"+r.version); err != nil {
		return err
	}
	if err := in("mod", "tidy"); err != nil {
		return err
	}
	if err := in("vet", "."); err != nil { // compiles what is imported
		return err
	}
	for _, c := range commands {
		if err := in("install", c+"@"+r.version); err != nil {
			return err
		}
	}
	return nil
}
