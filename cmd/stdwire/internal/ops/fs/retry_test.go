package fs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// changes are the operations that change a file f in use; g is another file.
var changes = []struct {
	name string
	call func(context.Context, *Roots) error
	tree string // the files afterwards
	f    string // content of f afterwards
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

// Windows does not replace an open file, so a change waits until it is closed.
func TestChangesWaitForReaders(t *testing.T) {
	t.Parallel()
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, map[string]string{"f": "old", "g": "new"})
			reader, err := os.Open(filepath.Join(s.dir, "f"))
			assert.NilError(t, err)
			defer reader.Close()
			// Only a retry checks the context this often.
			ctx := hookContext{t.Context(), after(25, func() error { return reader.Close() })}
			assert.NilError(t, change.call(ctx, s.roots))
			assert.DeepEqual(t, s.names(t), strings.Fields(change.tree))
			if change.f != "" {
				assert.Equal(t, s.content(t, "f"), change.f)
			}
		})
	}
}
