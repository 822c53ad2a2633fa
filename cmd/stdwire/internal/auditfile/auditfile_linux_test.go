package auditfile

import (
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// Lines that may not be on disk are reported before their file is closed.
func TestAuditCannotBeFlushed(t *testing.T) {
	a, _ := auditOf(t, 4, 1)
	_, err := a.Write([]byte("one\n"))
	assert.NilError(t, err)
	assert.NilError(t, a.f.Close())
	const oPath = 0x200000 // a file that can be neither written nor flushed
	a.f, err = os.OpenFile(a.path, oPath, 0)
	assert.NilError(t, err)
	written, err := a.Write([]byte("two\n"))
	assert.ErrorIs(t, err, syscall.EBADF)
	assert.Equal(t, written, 0)
}
