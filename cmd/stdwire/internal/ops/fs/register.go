// Package fs has the file operations of stdwire: fs.read, fs.list, fs.stat and fs.search, which change nothing, and fs.write, fs.edit,
// fs.move and fs.delete, which are behind [dispatch.GateWrite].
//
//	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: "."}})
//	…
//	defer roots.Close()
//	err = fs.Register(catalog, roots)
//
// # Where they reach
//
// A caller names files relative to a root, which is an instance in the sense of [dispatch.Instance]. Whatever is done goes through an
// [os.Root], so that no path, no symbolic link and no change of either while an operation runs leads out of it. Links inside a root
// work if they are relative and stay inside. Only regular files are read and written; a device or a pipe is neither opened nor waited
// for. What is mounted below a root is part of it. No error and no result holds the path of a root on the host.
//
// # What changes look like
//
// A file is replaced in one step, and a failure, a full disk or a cancellation leaves it as it was; see [WriteInput.IfSHA256] for how
// two writers do not overwrite each other. In this process a file has one writer at a time, however it is reached; against other
// programs a file is checked right before it is replaced, which leaves them an instant. Only a process that is killed in between leaves
// a file behind, named .stdwire-*.tmp.
//
// Names that are not UTF-8 are listed with U+FFFD in them, and cannot be addressed.
//
// # Windows
//
// A path may have slashes and backslashes; in answers it has slashes, and it can be sent back as it
// is. Globs match paths with slashes, and tell case apart. A name that Windows takes for another
// file, a stream of one or a device is refused: one that ends with a dot or a space, has a colon, or
// is NUL. A file with such a name may be listed, and cannot be addressed.
//
// A change of a file that another program has open is tried again for up to two seconds. A file that
// is replaced gets the access rights that its directory gives. A mode says only whether a file is
// marked read-only; such a file is not replaced, but can be deleted.
package fs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// Register adds the operations, working on these roots, to a catalog. It fails if one of the names is taken.
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

func operation[In, Out any](errs *[]error, roots *Roots, spec dispatch.Spec, fn func(context.Context, In) (Out, error)) *dispatch.Operation {
	spec.Errors = append(slices.Clip(failures), spec.Errors...)
	if names := roots.instances.Names(); len(names) > 1 {
		spec.Description += " Roots (instances): " + strings.Join(names, ", ") + "; the default is " + roots.instances.Default() + "."
	}
	op, err := dispatch.New(spec, fn)
	*errs = append(*errs, err)
	return op
}
