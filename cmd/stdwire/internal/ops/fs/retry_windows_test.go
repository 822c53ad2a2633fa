package fs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// A file that stays in use is unchanged, and the error says why.
func TestChangesOfFilesInUse(t *testing.T) {
	t.Parallel()
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, map[string]string{"f": "old", "g": "new"})
			reader, err := os.Open(filepath.Join(s.dir, "f"))
			assert.NilError(t, err)
			defer reader.Close()

			ctx := hookContext{t.Context(), after(25, cancelled)}
			assert.ErrorIs(t, change.call(ctx, s.roots), context.Canceled)
			failure, ok := errors.AsType[*dispatch.Error](change.call(t.Context(), s.roots))
			assert.Assert(t, ok)
			inUse := failure.Code == dispatch.StateError &&
				strings.Contains(failure.Message, "it is in use")
			denied := failure.Code == dispatch.PermissionDenied &&
				strings.Contains(failure.Message, "another program has it open")
			assert.Assert(t, inUse || denied, "%v", failure)
			assert.DeepEqual(t, s.names(t), []string{"f", "g"})
			assert.Equal(t, s.content(t, "f")+s.content(t, "g"), "oldnew")
		})
	}
}

// A file opened exclusively cannot be read, and no operation waits for it.
func TestReadsOfFilesInUse(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "old", "g": "old"})
	name, err := syscall.UTF16PtrFromString(filepath.Join(s.dir, "f"))
	assert.NilError(t, err)
	const shared = 0
	owner, err := syscall.CreateFile(name, syscall.GENERIC_READ, shared, nil, syscall.OPEN_EXISTING,
		syscall.FILE_ATTRIBUTE_NORMAL, 0)
	assert.NilError(t, err)
	defer syscall.CloseHandle(owner)
	fails(t, s, "fs.read", `{"path":"f"}`, dispatch.StateError, `cannot read "f": it is in use`)
	out := run[grep.Output](t, s, "fs.search", `{"pattern":"old"}`)
	assert.Equal(t, shown(out.Matches), "g:1:1:old")
	assert.Equal(t, out.Skipped, 1)
	fails(t, s, "fs.stat", `{"path":"f"}`, dispatch.StateError, `cannot look at "f": it is in use`)
	list := run[ListOutput](t, s, "fs.list", `{}`)
	assert.Equal(t, paths(list.Entries), "g")
	assert.Equal(t, list.Skipped, 1)
}
