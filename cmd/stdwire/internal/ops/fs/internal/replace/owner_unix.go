//go:build unix

package replace

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner and group of old if this process may. Without it, files that root
// edits would become root's.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
