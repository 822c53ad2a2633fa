//go:build unix

package userfile

import (
	"io/fs"
	"os"
	"syscall"
)

// IsOwn reports whether a file belongs to the user of this process. It is true on systems whose
// files have no owner.
func IsOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
