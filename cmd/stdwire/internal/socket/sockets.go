// Package socket is the sockets of running processes of stdwire: the control sockets of gateways,
// and the sockets of the servers that stdwire connect keeps. It knows their paths, listens, and
// finds the sockets of other processes. Only the user who started a process can connect to them.
package socket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/userfile"
)

// MaxPath limits the bytes of the path of a socket: Linux allows 107, macOS and the BSDs 103.
const MaxPath = 103

// CheckPath returns an error if the path of a socket is longer than [MaxPath].
func CheckPath(path string) error {
	if len(path) > MaxPath {
		return fmt.Errorf("%s: the path of a socket has at most %d bytes, and this has %d", path,
			MaxPath, len(path))
	}
	return nil
}

// SocketDirs returns the directories of sockets, the preferred one first. All of them are searched,
// because a gateway may have been started with another environment.
func SocketDirs() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		// the specification requires that relative paths are ignored
		if _, err := os.Stat(dir); err == nil { // the system creates it
			dirs = append(dirs, filepath.Join(dir, "stdwire"))
		}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "stdwire", "run"))
	}
	if uid := os.Getuid(); uid >= 0 { // often the shortest path
		dirs = append(dirs, filepath.Join(os.TempDir(), "stdwire-"+strconv.Itoa(uid)))
	}
	return dirs
}

// ListenControl listens on a control socket and returns its path.
func ListenControl() (listener net.Listener, path string, err error) {
	return listenLocally(fmt.Sprintf("%d-%.6s%s", os.Getpid(), rand.Text(), controlSuffix))
}

// ListenClients listens on a socket for clients of this process's gateway, and returns its path.
func ListenClients() (listener net.Listener, path string, err error) {
	return listenLocally(fmt.Sprintf("%d-%.6s%s", os.Getpid(), rand.Text(), clientsSuffix))
}

// listenLocally listens on a socket that only this user can reach, in the first directory that is
// suitable, and returns its path. The name is unique: a socket that refuses connections belongs to
// a process that has ended.
func listenLocally(name string) (listener net.Listener, path string, err error) {
	failed := []error{errors.New("no directory is suitable for a socket")}
	for _, dir := range SocketDirs() {
		path = filepath.Join(dir, name)
		listener, err = listenAt(path)
		if err == nil {
			return listener, path, nil
		}
		failed = append(failed, err)
	}
	return nil, "", errors.Join(failed...)
}

func listenAt(path string) (net.Listener, error) {
	if err := CheckPath(path); err != nil {
		return nil, fmt.Errorf("%w: set XDG_RUNTIME_DIR to a shorter directory", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkPrivate(dir); err != nil {
		return nil, err
	}
	temporary := path[:len(path)-len(filepath.Ext(path))]
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // the socket is renamed below
	if err = os.Chmod(temporary, 0o600); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = listener.Close()
		_ = os.Remove(temporary)
		return nil, err
	}
	return listener, nil
}

// checkPrivate returns an error unless a directory belongs to this user and has no permissions for
// others.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !userfile.IsOwn(info):
		return fmt.Errorf("%s belongs to another user", dir)
	case userfile.OthersMay(info) != 0:
		return fmt.Errorf("%s is accessible to other users: check its content, and run chmod 700 on it", dir)
	}
	return nil
}

const (
	controlSuffix = ".sock"
	clientsSuffix = ".mcp"
)

// Sockets returns the paths of the control sockets, of running and of ended processes.
func Sockets() []string { return sockets(controlSuffix) }

// sockets returns the paths of the sockets whose names end in suffix. It ignores directories that
// are not private, because another user may listen there.
func sockets(suffix string) (paths []string) {
	for _, dir := range SocketDirs() {
		if checkPrivate(dir) != nil {
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == suffix {
				paths = append(paths, filepath.Join(dir, entry.Name()))
			}
		}
	}
	return paths
}

// ReachSocket connects to a socket. It removes a socket whose process has ended; the error is then
// [fs.ErrNotExist].
func ReachSocket(ctx context.Context, path string) (net.Conn, error) {
	const timeout = 3 * time.Second
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if errors.Is(err, Refused) {
		_ = os.Remove(path)
		return nil, fs.ErrNotExist
	}
	return conn, err
}

// SweepSockets removes the sockets of processes that ended without removing them. To find out, it
// connects to each for a moment, except to those of this process, which own names: there it would
// count as a client.
func SweepSockets(ctx context.Context, own ...string) {
	all := slices.Concat(Sockets(), sockets(clientsSuffix), sockets(connectionSuffix))
	for _, path := range all {
		if slices.Contains(own, path) {
			continue
		}
		if conn, err := ReachSocket(ctx, path); err == nil {
			_ = conn.Close()
		}
	}
}
