package rootdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestFail(t *testing.T) {
	t.Parallel()
	r := &Root{name: "main", errEscapes: errors.New("escapes")}
	for _, test := range []struct {
		cause error
		want  string
	}{
		{syscall.ENOENT, `not_found: cannot read "f": it does not exist`},
		{syscall.EEXIST, `state_error: cannot read "f": it exists already`},
		{syscall.ENOTEMPTY, `state_error: cannot read "f": the directory is not empty`},
		{syscall.EACCES,
			`permission_denied: cannot read "f": the operating system does not permit it`},
		{syscall.EPERM, `permission_denied: cannot read "f": the operating system does not permit it`},
		{syscall.EROFS, `permission_denied: cannot read "f": the file system is read-only`},
		{syscall.ENOSPC, `state_error: cannot read "f": no space is left on the device`},
		{syscall.EDQUOT, `state_error: cannot read "f": the disk quota is used up`},
		{syscall.EIO, `upstream_error: cannot read "f": input/output error`},
		{r.errEscapes, `permission_denied: "f" leads outside the root "main"`},
	} {
		for _, err := range []error{
			test.cause, &os.PathError{Op: "openat", Path: "/host/dir/f", Err: test.cause},
			&os.LinkError{Op: "renameat", Old: "/host/dir", New: "/host", Err: test.cause},
		} {
			assert.Error(t, r.Fail("read", "f", err), test.want)
		}
	}
	assert.NilError(t, r.Fail("read", "f", nil))
	ours := dispatch.Errorf(dispatch.Blocked, "ours")
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, ours} {
		assert.Equal(t, r.Fail("read", "f", err), err)
	}
	// Unknown errors appear in the log only.
	unknown := r.Fail("read", "f", fmt.Errorf("odd: %w", fs.ErrClosed))
	_, shown := errors.AsType[*dispatch.Error](unknown)
	assert.Assert(t, !shown && strings.Contains(unknown.Error(), "odd") &&
		errors.Is(unknown, fs.ErrClosed))
}
