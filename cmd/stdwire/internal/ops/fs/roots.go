package fs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

// A Root is a directory that the operations may access, and its name for callers.
type Root struct {
	Name string // letters, digits, '_' and '-'
	Dir  string // a path of the host; callers never see it
}

// ParseRoot parses "NAME=DIR", or "DIR", whose name is derived from its last element. If the text
// before "=" is not a valid name, it is part of the directory. ParseRoot does not access the file
// system, except for the working directory if DIR is relative.
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

// mayName reports whether the name of a root may have a character.
func mayName(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
		c == '-'
}

func isName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool { return !mayName(c) }) < 0
}

// nameFor derives the name of a root from a file name.
func nameFor(base string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if mayName(c) {
			return c
		}
		return '_'
	}, base), "_")
	if name == "" {
		return "root"
	}
	return name
}

// Roots holds open directories. It is safe for concurrent use. The caller of [OpenRoots] closes it
// when the operations registered with it are no longer called.
type Roots struct {
	instances *dispatch.Instances[*rootdir.Root]
	locks     rootdir.Locks
	slots     *grep.Slots // for searches
}

// OpenRoots opens directories; the first is the default. There must be at least one, and the names
// must be unique.
func OpenRoots(list []Root) (_ *Roots, err error) {
	if len(list) == 0 {
		return nil, errors.New("no root directory was given")
	}
	named := make(map[string]*rootdir.Root, len(list))
	defer func() {
		if err != nil {
			for _, r := range named {
				r.Close()
			}
		}
	}()
	for _, want := range list {
		if _, duplicate := named[want.Name]; duplicate {
			return nil, fmt.Errorf(
				"two roots are named %q; give them different names with NAME=DIR", want.Name)
		}
		r, err := rootdir.Open(want.Name, want.Dir)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", want.Name, err)
		}
		named[want.Name] = r
	}
	instances, err := dispatch.NewInstances(list[0].Name, named)
	if err != nil {
		return nil, err
	}
	return &Roots{instances: instances, slots: grep.NewSlots()}, nil
}

// Close closes all directories. Running operations may still finish; later ones fail.
func (rs *Roots) Close() error {
	var errs []error
	for _, name := range rs.instances.Names() {
		if r, err := rs.instances.Get(name); err == nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// locate returns the root with a name, or the default for "", and the clean form of a path in it.
func (rs *Roots) locate(instance, path string) (*rootdir.Root, string, error) {
	r, err := rs.instances.Get(instance)
	if err != nil {
		return nil, "", err
	}
	name, err := r.Clean(path)
	return r, name, err
}
