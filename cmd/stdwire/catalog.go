package main

import (
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/ops/fs"
)

// builtin is what stdwire's own server offers: which directories, and whether they may be changed.
type builtin struct {
	roots []string // as they were given; see [fs.ParseRoot]
	write bool
}

func (b *builtin) flags() []flag {
	return []flag{
		{name: "--root", value: "[NAME=]DIR", many: true, help: "directory that files are in; may be repeated, the first is the default (default .)", set: func(value string) error {
			_, err := fs.ParseRoot(value)
			b.roots = append(b.roots, value)
			return err
		}},
		toggle(&b.write, "--write", "offer the operations that change files"),
	}
}

// given reports whether any of the flags was.
func (b *builtin) given() bool { return b.roots != nil || b.write }

// args are the arguments with which stdwire serves the same.
func (b *builtin) args() []string {
	args := []string{"serve"}
	for _, root := range b.roots {
		args = append(args, "--root="+root)
	}
	if b.write {
		args = append(args, "--write")
	}
	return args
}

// open returns the catalog. Closing the roots is the caller's.
func (b *builtin) open() (*dispatch.Catalog, *fs.Roots, error) {
	given := b.roots
	if given == nil {
		given = []string{"."}
	}
	var list []fs.Root
	for _, s := range given {
		root, err := fs.ParseRoot(s)
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		list = append(list, root)
	}
	roots, err := fs.OpenRoots(list)
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	var gates []dispatch.Gate
	if b.write {
		gates = append(gates, dispatch.GateWrite)
	}
	catalog := dispatch.NewCatalog(gates...)
	if err := fs.Register(catalog, roots); err != nil {
		_ = roots.Close()
		return nil, nil, err
	}
	return catalog, roots, nil
}
