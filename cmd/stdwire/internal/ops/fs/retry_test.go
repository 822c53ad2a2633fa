package fs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// changes are the ways to change a file f in use. There is a file g beside it.
var changes = []struct {
	name string
	call func(context.Context, *Roots) error
	tree string // what is there then
	f    string // what is in f then
}{
	{"write", func(ctx context.Context, rs *Roots) error {
		_, err := rs.write(ctx, WriteInput{Path: "f", Content: "new"})
		return err
	}, "f g", "new"},
	{"edit", func(ctx context.Context, rs *Roots) error {
		_, err := rs.edit(ctx, EditInput{Path: "f", Old: "old", New: "new"})
		return err
	}, "f g", "new"},
	{"move over", func(ctx context.Context, rs *Roots) error {
		_, err := rs.move(ctx, MoveInput{From: "g", To: "f", Overwrite: true})
		return err
	}, "f", "new"},
	{"move away", func(ctx context.Context, rs *Roots) error {
		_, err := rs.move(ctx, MoveInput{From: "f", To: "h"})
		return err
	}, "g h", ""},
	{"delete", func(ctx context.Context, rs *Roots) error {
		_, err := rs.delete(ctx, DeleteInput{Path: "f"})
		return err
	}, "g", ""},
}

// Windows replaces no file that another program reads, so that a change waits for the end of that.
func TestChangesWaitForReaders(t *testing.T) {
	t.Parallel()
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, map[string]string{"f": "old", "g": "new"})
			contextReader, err := os.Open(filepath.Join(s.dir, "f"))
			assert.NilError(t, err)
			defer contextReader.Close()
			// So often is the context looked at only by one who tries again.
			ctx := hooked{t.Context(), after(25, func() error { return contextReader.Close() })}
			assert.NilError(t, change.call(ctx, s.roots))
			assert.DeepEqual(t, s.names(t), strings.Fields(change.tree))
			if change.f != "" {
				assert.Equal(t, s.content(t, "f"), change.f)
			}
		})
	}
}
