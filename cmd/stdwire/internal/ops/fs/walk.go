package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// walkLimits are how far a walk goes; what is beyond is left out.
type walkLimits struct {
	visited int // entries looked at in all
	inDir   int // entries looked at in one directory, and a thousand more at most
	depth   int // directories under one another
}

var usualLimits = walkLimits{visited: 1_000_000, inDir: 100_000, depth: 256}

// A walk visits what lies under a directory: each directory in the order of its names, byte by byte, and what is in a directory
// right behind the directory itself. It follows no symbolic links, and does not enter a directory that is named .git, unless it
// started there.
type walk struct {
	root      *root
	limits    walkLimits
	recursive bool
	exclude   []*glob
	visit     func(name, relative string, entry fs.DirEntry) error // an error of it ends the walk and is returned

	visited   int
	skipped   int  // directories that could not be read
	truncated bool // not all was visited, because one of the limits was reached
}

var errEnough = errors.New("enough was found") // for visit to end a walk that went well

// from walks what lies under a directory. An error in reading it is returned; one in reading those below is counted.
func (w *walk) from(ctx context.Context, start string) error {
	err := w.dir(ctx, start, "", 0)
	if errors.Is(err, errEnough) {
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
			return errEnough
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.visited++; w.visited%1000 == 0 {
			dispatch.Progress(ctx, float64(w.visited), 0, "looked at "+name)
		}
		below := path.Join(relative, entry.Name())
		if slices.ContainsFunc(w.exclude, func(g *glob) bool { return g.match(below) }) {
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

// entries reads a directory, sorted.
func (w *walk) entries(ctx context.Context, name string) ([]fs.DirEntry, error) {
	d, err := w.root.dir.Open(asDir(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []fs.DirEntry
	for ctx.Err() == nil {
		some, err := d.ReadDir(1000)
		all = append(all, some...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(all) >= w.limits.inDir {
			w.truncated = true
			break
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
