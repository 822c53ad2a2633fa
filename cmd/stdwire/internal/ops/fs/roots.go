package fs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// A Root is a directory that the operations may reach, and the name that callers know it by.
type Root struct {
	Name string // letters, digits, '_' and '-'
	Dir  string // a path of the host; callers never see it
}

// ParseRoot reads "NAME=DIR" or "DIR", which is named after its last element. What stands before a "=" but cannot be a name is taken
// for part of the directory. It does not look at the file system, but for the working directory of a relative DIR.
func ParseRoot(s string) (Root, error) {
	name, dir, named := strings.Cut(s, "=")
	if !named || !isName(name) {
		name, dir = "", s
	}
	if dir == "" {
		return Root{}, fmt.Errorf("root %q has no directory; want [NAME=]DIR", s)
	}
	if name == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Root{}, fmt.Errorf("root %q: %w", s, err)
		}
		name = nameFor(filepath.Base(abs))
	}
	return Root{name, dir}, nil
}

func isNameByte(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !isNameByte(c) }) < 0
}

// nameFor makes a name of a file name.
func nameFor(base string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if isNameByte(c) {
			return c
		}
		return '_'
	}, base), "_")
	if name == "" {
		return "root"
	}
	return name
}

// Roots holds open directories. It is safe for concurrent use, and belongs to whoever opened it, who closes it when the operations
// registered with it are no longer called.
type Roots struct {
	instances *dispatch.Instances[*root]
	locks     locks
	turns     *turns // of searches
}

// OpenRoots opens these directories; the first is the default. There must be at least one, and no name twice.
func OpenRoots(list []Root) (_ *Roots, err error) {
	if len(list) == 0 {
		return nil, errors.New("no root directory was given")
	}
	named := make(map[string]*root, len(list))
	defer func() {
		if err != nil {
			for _, r := range named {
				r.dir.Close()
			}
		}
	}()
	for _, want := range list {
		if _, twice := named[want.Name]; twice {
			return nil, fmt.Errorf("two roots are named %q; name them apart with NAME=DIR", want.Name)
		}
		r, err := openRoot(want)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", want.Name, err)
		}
		named[want.Name] = r
	}
	instances, err := dispatch.NewInstances(list[0].Name, named)
	if err != nil {
		return nil, err
	}
	return &Roots{instances: instances, turns: newTurns()}, nil
}

// Close closes all directories. An operation that is running may still finish; a later one fails.
func (rs *Roots) Close() error {
	var errs []error
	for _, name := range rs.instances.Names() {
		if r, err := rs.instances.Get(name); err == nil {
			errs = append(errs, r.dir.Close())
		}
	}
	return errors.Join(errs...)
}

// A root is one open directory. Every access goes through dir, which no path leaves.
type root struct {
	name    string
	dir     *os.Root
	host    string // the real path of dir, to know by it that two roots overlap; never shown
	escapes error  // what dir answers to a path that leads out of it; package os does not export it
}

func openRoot(want Root) (*root, error) {
	abs, err := filepath.Abs(want.Dir)
	if err != nil {
		return nil, err
	}
	host, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(host)
	if err != nil {
		return nil, err
	}
	_, escapes := dir.Lstat("..")
	return &root{name: want.Name, dir: dir, host: host, escapes: errors.Unwrap(escapes)}, nil
}
