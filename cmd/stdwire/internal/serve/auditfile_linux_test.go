package serve

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// A full disk is an error, which the gateway counts and logs; and a device has no size to limit.
func TestAuditOnAFullDisk(t *testing.T) {
	a, err := openAudit("/dev/full", 0, 0, slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	defer a.close()
	n, err := a.Write([]byte("1\n"))
	assert.Equal(t, n, 0)
	assert.Assert(t, errors.Is(err, syscall.ENOSPC), err)
	assert.Assert(t, !a.rotated())
	_, err = openAudit("/dev/full", 10, 1, slog.New(slog.DiscardHandler))
	assert.Error(t, err, "/dev/full is not a regular file, and its size cannot be limited")
}

// A file that another program removes is replaced at the next write. Windows keeps it until it is
// closed.
func TestAuditIsRemoved(t *testing.T) {
	a, _ := auditOf(t, 0, 0)
	for _, text := range []string{"1\n", "2\n"} {
		_, err := io.WriteString(a, text)
		assert.NilError(t, err)
		assert.DeepEqual(t, contents(t, a), []string{text})
		assert.NilError(t, os.Remove(a.path))
	}
}
