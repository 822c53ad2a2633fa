package userfile

import (
	"fmt"
	"io/fs"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// OthersMay returns the permissions that users other than the owner have for a file, as the bits
// 0o077 of a mode. It returns 0 if permissions do not keep other users out on this system: see
// [atomicfile.Permissions].
func OthersMay(info fs.FileInfo) fs.FileMode {
	if !atomicfile.Permissions {
		return 0
	}
	return info.Mode().Perm() & 0o077
}

// ReadSecret returns the content of a file that the user names and other users must not read or
// change, of at most limit bytes. The group may read a file that belongs to another user, because
// systemd and Kubernetes pass secrets to a service in this way.
func ReadSecret(path string, limit int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	others := OthersMay(info)
	if !IsOwn(info) {
		others &^= 0o040
	}
	if others != 0 {
		return nil, fmt.Errorf("%s can be read or changed by others: chmod 600 %[1]s", path)
	}
	return ReadAll(f, path, limit)
}
