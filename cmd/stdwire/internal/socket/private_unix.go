//go:build unix

package socket

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// isPrivate reports whether only the owner has permissions for a file.
func isPrivate(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
