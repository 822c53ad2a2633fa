//go:build unix

package target

import (
	"io/fs"
	"os"
	"syscall"
)

// exposed reports whether other users can read or change a file. The group may read a file that
// belongs to another user, because systemd and Kubernetes pass secrets to a service in this way.
func exposed(info fs.FileInfo) bool {
	shared := info.Mode().Perm() & 0o077
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		shared &^= 0o040
	}
	return shared != 0
}
