//go:build unix

package socket

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// sealed reports whether only the owner has permissions for a file.
func sealed(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
