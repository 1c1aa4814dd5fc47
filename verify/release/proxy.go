package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	gomod "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// pack puts a module of the tree into the proxy. The zip is the one that the go
// command makes of the module's tag, so that its sum is too.
func (r *release) pack(m *module) error {
	dir := filepath.Join(r.tree, m.dir)
	// The go command adds the repository's licence to a module that has none.
	if licence := filepath.Join(dir, "LICENSE"); m.dir != "." {
		if _, err := os.Stat(licence); errors.Is(err, os.ErrNotExist) {
			if err := copyFile(filepath.Join(r.tree, "LICENSE"), licence, 0o644); err != nil {
				return err
			}
		}
	}
	escaped, err := gomod.EscapePath(m.path)
	if err != nil {
		return err
	}
	to := filepath.Join(r.proxy, escaped, "@v")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{r.version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "list"), []byte(r.version+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, r.version+".info"), info, 0o644); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(dir, "go.mod"), filepath.Join(to, r.version+".mod"), 0o644); err != nil {
		return err
	}
	zip, err := os.Create(filepath.Join(to, r.version+".zip"))
	if err != nil {
		return err
	}
	err = modzip.CreateFromDir(zip, gomod.Version{Path: m.path, Version: r.version}, dir)
	return errors.Join(err, zip.Close())
}

// env is the environment in which the go command finds the release: in the proxy
// first, and what it requires in this machine's module cache or wherever the go
// command asks for modules. Sums of modules that are not published yet cannot be
// looked up.
func (r *release) env() []string {
	cache, _ := output(".", nil, "go", "env", "GOMODCACHE")
	upstream, _ := output(".", nil, "go", "env", "GOPROXY")
	return []string{
		"GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE=" + r.cache,
		"GOPROXY=file://" + filepath.ToSlash(r.proxy) + ",file://" + filepath.ToSlash(cache) + "/cache/download," + upstream,
		"GONOSUMDB=" + r.modules[0].path + "," + r.modules[0].path + "/*", "GONOSUMCHECK=1", "GOPRIVATE=",
	}
}

// goCommand runs the go command in a module of the tree.
func (r *release) goCommand(m *module, args ...string) (string, error) {
	return output(filepath.Join(r.tree, m.dir), r.env(), "go", args...)
}
