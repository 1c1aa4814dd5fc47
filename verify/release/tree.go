package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A release is all published modules, in a tree of their own, as they would be
// under one version, and a proxy that offers them.
type release struct {
	version string
	root    string    // of the repository
	tree    string    // a copy of the repository's files
	proxy   string    // a folder in the form of a module proxy
	cache   string    // a module cache that others do not see
	modules []*module // required ones first
}

// module is one published module.
type module struct {
	dir  string // in the tree, with slashes; . is the core
	path string
	file *modfile.File
}

// tag is the name of the tag of a version.
func (m *module) tag(version string) string { return path.Join(m.dir, version) }

// published tells whether the module in a folder is one that others may require:
// the core, what lies in contrib, and the commands. What is in contrib/faults are
// tests alone.
func published(dir string) bool {
	parts := strings.Split(dir, "/")
	return dir == "." || len(parts) == 2 && (parts[0] == "contrib" || parts[0] == "cmd") && dir != "contrib/faults"
}

// prepare copies the tree of the repository and makes of its modules what a
// version of them would be; if only names some folders, of the modules there and
// of those that they require.
func prepare(root, work, version string, only ...string) (*release, error) {
	r := &release{version: version, root: root, tree: filepath.Join(work, "tree"), proxy: filepath.Join(work, "proxy"), cache: filepath.Join(work, "cache")}
	if err := copyTree(root, r.tree); err != nil {
		return nil, err
	}
	if err := r.find(); err != nil {
		return nil, err
	}
	if len(only) > 0 {
		r.keep(only)
	}
	for _, m := range r.modules {
		if err := r.set(m); err != nil {
			return nil, err
		}
		// What is required is in the proxy by now.
		if _, err := r.goCommand(m, "mod", "tidy"); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		if err := r.pack(m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return r, nil
}

// copyTree copies the files that git knows or would add.
func copyTree(root, to string) error {
	list, err := output(root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(list, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted, or a link, which no module can hold
		}
		if err == nil {
			err = copyFile(filepath.Join(root, name), filepath.Join(to, name), info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// find lists the published modules, those that others require before them.
func (r *release) find() error {
	var found []*module
	err := filepath.WalkDir(r.tree, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		dir, err := filepath.Rel(r.tree, filepath.Dir(name))
		if dir = filepath.ToSlash(dir); err != nil || !published(dir) {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := modfile.Parse(name, text, nil)
		if err == nil {
			found = append(found, &module{dir: dir, path: file.Module.Mod.Path, file: file})
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *module) int { return strings.Compare(a.dir, b.dir) }) // . is before all names
	for len(found) > 0 {
		i := slices.IndexFunc(found, func(m *module) bool {
			return !slices.ContainsFunc(found, func(o *module) bool { return o != m && m.requires(o.path) })
		})
		if i < 0 {
			return errors.New("the modules require each other in a circle")
		}
		r.modules = append(r.modules, found[i])
		found = slices.Delete(found, i, i+1)
	}
	if len(r.modules) == 0 || r.modules[0].dir != "." {
		return errors.New("the repository's own module is missing, or requires another of its modules")
	}
	for _, m := range r.modules[1:] {
		if m.path != path.Join(r.modules[0].path, m.dir) {
			return fmt.Errorf("%s lies in the folder %s: nobody can require it", m.path, m.dir)
		}
	}
	return nil
}

// keep drops the modules that neither lie in a folder of only nor are required by
// one that stays.
func (r *release) keep(only []string) {
	var kept []*module
	for _, m := range slices.Backward(r.modules) {
		if slices.Contains(only, m.dir) || slices.ContainsFunc(kept, func(o *module) bool { return o.requires(m.path) }) {
			kept = append(kept, m)
		}
	}
	slices.Reverse(kept)
	r.modules = kept
}

func (m *module) requires(path string) bool {
	return slices.ContainsFunc(m.file.Require, func(q *modfile.Require) bool { return q.Mod.Path == path })
}

// set makes a module require this version of the others, wherever they are.
func (r *release) set(m *module) error {
	for _, q := range slices.Clone(m.file.Require) {
		if !r.own(q.Mod.Path) {
			continue
		}
		if !slices.ContainsFunc(r.modules, func(o *module) bool { return o.path == q.Mod.Path }) {
			return fmt.Errorf("%s requires %s, which is not published", m.path, q.Mod.Path)
		}
		if err := m.file.AddRequire(q.Mod.Path, r.version); err != nil {
			return err
		}
	}
	for _, x := range slices.Clone(m.file.Replace) {
		if !r.own(x.Old.Path) {
			return fmt.Errorf("%s replaces %s: whoever requires it would not", m.path, x.Old.Path)
		}
		if err := m.file.DropReplace(x.Old.Path, x.Old.Version); err != nil {
			return err
		}
	}
	m.file.Cleanup()
	text, err := m.file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.tree, m.dir, "go.mod"), text, 0o644)
}

// own tells whether a module is of this repository.
func (r *release) own(path string) bool {
	core := r.modules[0].path
	return path == core || strings.HasPrefix(path, core+"/")
}

// writeBack writes the go.mod and go.sum files of the published modules into the
// repository.
func (r *release) writeBack() error {
	for _, m := range r.modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			from := filepath.Join(r.tree, m.dir, name)
			if _, err := os.Stat(from); err != nil {
				continue // a module without requirements has no sums
			}
			if err := copyFile(from, filepath.Join(r.root, m.dir, name), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// output runs a command and returns what it prints, without the last newline.
func output(dir string, env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var complaint strings.Builder
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, out, complaint.String())
	}
	return strings.TrimRight(string(out), "\n"), nil
}
