package rootdir

import (
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestFailOnWindows(t *testing.T) {
	t.Parallel()
	r, err := Open("main", t.TempDir())
	assert.NilError(t, err)
	defer r.Close()
	for number, want := range map[syscall.Errno]string{
		2: `not_found: cannot move "f": it does not exist`,
		3: `not_found: cannot move "f": it does not exist`,
		5: `permission_denied: cannot move "f": ` +
			`the operating system does not permit it, or another program has it open`,
		17: `state_error: cannot move "f": source and destination are on different file systems; ` +
			`write a copy and delete the source instead`,
		19:   `permission_denied: cannot move "f": the file system is read-only`,
		32:   `state_error: cannot move "f": it is in use`,
		33:   `state_error: cannot move "f": it is in use`,
		39:   `state_error: cannot move "f": no space is left on the device`,
		80:   `state_error: cannot move "f": it exists already`,
		111:  `invalid_input: cannot move "f": the name is too long`,
		112:  `state_error: cannot move "f": no space is left on the device`,
		123:  `invalid_input: cannot move "f": Windows does not allow the name`,
		145:  `state_error: cannot move "f": the directory is not empty`,
		161:  `invalid_input: cannot move "f": Windows does not allow the name`,
		170:  `state_error: cannot move "f": it is in use`,
		183:  `state_error: cannot move "f": it exists already`,
		206:  `invalid_input: cannot move "f": the name is too long`,
		223:  `state_error: cannot move "f": the file would be larger than allowed`,
		303:  `state_error: cannot move "f": it is in use`,
		1295: `state_error: cannot move "f": the disk quota is used up`,
		1921: `state_error: cannot move "f": the symbolic links lead in a circle`,
	} {
		of := &os.LinkError{Op: "renameat", Old: `C:\f`, New: "g", Err: number}
		for _, err := range []error{number, of} {
			assert.Error(t, r.Fail("move", "f", err), want, "%d", number)
		}
	}
}
