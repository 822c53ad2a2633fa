// Package socket is the control socket of a running gateway: its path, listening on it, and finding
// the sockets of other processes. Only the user who started the gateway can connect to it.
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
	"strconv"
	"time"
)

// maxSocketPath is the maximum length of the path of a socket in bytes: Linux allows 107, macOS and
// the BSDs 103.
const maxSocketPath = 103

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

// ListenLocally listens on a socket that only this user can reach, in the first directory that is
// suitable, and returns its path. A socket of that name that refuses connections belongs to a
// process that has ended.
func ListenLocally() (listener net.Listener, path string, err error) {
	name := fmt.Sprintf("%d-%.6s.sock", os.Getpid(), rand.Text())
	failed := []error{errors.New("there is no place for a socket")}
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
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf(
			"%s: the path of a socket has at most %d bytes, and this has %d: set XDG_RUNTIME_DIR to a shorter directory",
			path, maxSocketPath, len(path))
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	bare := path[:len(path)-len(filepath.Ext(path))]
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: bare, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // the socket is renamed below
	if err = os.Chmod(bare, 0o600); err == nil {
		err = os.Rename(bare, path)
	}
	if err != nil {
		_ = listener.Close()
		_ = os.Remove(bare)
		return nil, err
	}
	return listener, nil
}

// private returns an error unless a directory belongs to this user and has no permissions for
// others.
func private(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	case !ours(info):
		return fmt.Errorf("%s belongs to somebody else", dir)
	case !sealed(info):
		return fmt.Errorf("%s can be entered by others; look into it, and then: chmod 700 it", dir)
	}
	return nil
}

// Sockets returns the paths of the sockets of gateways, running or ended. It ignores directories
// that are not private, because another user may listen there.
func Sockets() (paths []string) {
	for _, dir := range SocketDirs() {
		if private(dir) != nil {
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) == ".sock" {
				paths = append(paths, filepath.Join(dir, entry.Name()))
			}
		}
	}
	return paths
}

// ReachSocket connects to a socket. It removes a socket whose process has ended; the error is then
// [fs.ErrNotExist].
func ReachSocket(ctx context.Context, path string) (net.Conn, error) {
	const patience = 3 * time.Second
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if errors.Is(err, Refused) {
		_ = os.Remove(path)
		return nil, fs.ErrNotExist
	}
	return conn, err
}

// SweepSockets removes the sockets of gateways that ended without removing them.
func SweepSockets(ctx context.Context) {
	for _, path := range Sockets() {
		if conn, err := ReachSocket(ctx, path); err == nil {
			_ = conn.Close()
		}
	}
}
