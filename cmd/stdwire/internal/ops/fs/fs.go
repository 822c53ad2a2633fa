// Package fs implements the file operations of stdwire: those that change nothing, such as fs.read,
// and those that do, such as fs.write, which need [dispatch.GateWrite].
//
//	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: "."}})
//	…
//	defer roots.Close()
//	err = fs.Register(catalog, roots)
//
// # Confinement to roots
//
// A caller names files relative to a root, which is an instance in the sense of
// [dispatch.Instance]. All access goes through an [os.Root], so that no path and no symbolic link
// leads out of it, even if they change while an operation runs. Links inside a root work if they
// are relative and stay inside. Only regular files are read and written; devices and pipes are not
// opened and do not block. File systems mounted below a root are part of it. Errors and results
// never contain the path of a root on the host.
//
// # Atomic changes
//
// A file is replaced atomically; after a failure, a full disk or a cancellation it is unchanged.
// [WriteInput.IfSHA256] keeps two writers from overwriting each other's changes. Within this
// process, a file has one writer at a time, by whatever path. Against other programs, the file is
// checked right before it is replaced, which leaves a short race. Only a killed process leaves a
// temporary file, named .stdwire-*.tmp.
//
// Names that are not UTF-8 are listed with U+FFFD in them and cannot be used in paths.
//
// # Windows
//
// Input paths may have slashes and backslashes; paths in results have slashes and can be used as
// input. Globs match paths with slashes and are case-sensitive. Names that Windows maps to another
// file, a stream or a device are refused: those that end with a dot or a space, have a colon, or
// are NUL. A file of such a name may be listed but not accessed.
//
// Changes of a file that another program has open are retried for up to two seconds. A replaced
// file gets the access rights of its directory. A mode says only whether a file is marked
// read-only; such a file is not replaced, but can be deleted.
package fs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

// Register adds the operations on roots to a catalog. It fails if an operation of one of the names
// exists.
func Register(c *dispatch.Catalog, roots *Roots) error {
	var errs []error
	ops := []*dispatch.Operation{
		operation(&errs, roots, readSpec, roots.read),
		operation(&errs, roots, listSpec, roots.list),
		operation(&errs, roots, statSpec, roots.stat),
		operation(&errs, roots, searchSpec, roots.search),
		operation(&errs, roots, writeSpec, roots.write),
		operation(&errs, roots, editSpec, roots.edit),
		operation(&errs, roots, moveSpec, roots.move),
		operation(&errs, roots, deleteSpec, roots.delete),
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.Register(ops...)
}

func operation[In, Out any](errs *[]error, roots *Roots, spec dispatch.Spec,
	fn func(context.Context, In) (Out, error)) *dispatch.Operation {
	spec.Errors = append(slices.Clip(rootdir.ErrorCodes), spec.Errors...)
	if names := roots.instances.Names(); len(names) > 1 {
		spec.Description += " Roots (instances): " + strings.Join(names, ", ") +
			"; the default is " + roots.instances.Default() + "."
	}
	op, err := dispatch.NewOperation(spec, fn)
	*errs = append(*errs, err)
	return op
}
