package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/glob"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

// walkLimits limit a walk. Entries beyond the limits are left out.
type walkLimits struct {
	visited      int // entries in total
	perDirectory int // entries of one directory; up to a thousand more are read
	depth        int // nested directories
}

var defaultWalkLimits = walkLimits{visited: 1_000_000, perDirectory: 100_000, depth: 256}

// A walk visits the entries below a directory: those of each directory in byte order of their
// names, and the entries of a directory right after the directory. It does not follow symbolic
// links, and does not enter a directory named .git unless it starts there.
type walk struct {
	root      *rootdir.Root
	limits    walkLimits
	recursive bool
	exclude   []*glob.Glob
	visit     func(name, relative string, entry fs.DirEntry) error // fs.SkipAll ends the walk

	visited   int
	skipped   int  // directories that could not be read
	truncated bool // a limit was reached
}

// from walks a directory. It returns an error of reading that directory; errors of reading those
// below are counted in skipped.
func (w *walk) from(ctx context.Context, start string) error {
	err := w.dir(ctx, start, "", 0)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (w *walk) dir(ctx context.Context, name, relative string, depth int) error {
	entries, err := w.entries(ctx, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if depth == 0 {
			return err
		}
		w.skipped++
		return nil
	}
	for _, entry := range entries {
		if w.visited == w.limits.visited {
			w.truncated = true
			return fs.SkipAll
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.visited++; w.visited%1000 == 0 {
			dispatch.Progress(ctx, float64(w.visited), 0, "looked at "+name)
		}
		below := path.Join(relative, entry.Name())
		if slices.ContainsFunc(w.exclude, func(g *glob.Glob) bool { return g.Match(below) }) {
			continue
		}
		if err := w.visit(path.Join(name, entry.Name()), below, entry); err != nil {
			return err
		}
		if !w.recursive || !entry.IsDir() || entry.Name() == ".git" {
			continue
		}
		if depth == w.limits.depth {
			w.truncated = true
			continue
		}
		if err := w.dir(ctx, path.Join(name, entry.Name()), below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a directory, sorted.
func (w *walk) entries(ctx context.Context, name string) ([]fs.DirEntry, error) {
	d, err := w.root.Dir.Open(rootdir.AsDir(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []fs.DirEntry
	for ctx.Err() == nil {
		batch, err := d.ReadDir(1000)
		all = append(all, batch...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(all) >= w.limits.perDirectory {
			w.truncated = true
			break
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
