//go:build unix

package socket

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user that this runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// sealed reports whether nobody but its owner can do anything with a file.
func sealed(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
