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

// maxSocketPath is how long the path of a socket may be, in bytes, wherever this runs: Linux takes 107, macOS and the BSDs 103.
const maxSocketPath = 103

// SocketDirs are where gateways have their sockets, the best place first. All are looked into, because a gateway may have been started with another environment.
func SocketDirs() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) { // the specification wants relative ones to be ignored
		if _, err := os.Stat(dir); err == nil { // it is for the system to make
			dirs = append(dirs, filepath.Join(dir, "stdwire"))
		}
	}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "stdwire", "run"))
	}
	if uid := os.Getuid(); uid >= 0 { // a shorter path than the others may have
		dirs = append(dirs, filepath.Join(os.TempDir(), "stdwire-"+strconv.Itoa(uid)))
	}
	return dirs
}

// ListenLocally opens a socket that only this user reaches, in the first place that is fit for one, and returns its path. Under that name it is listening from the beginning: one that refuses is
// dead.
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
		return nil, fmt.Errorf("%s: the path of a socket has at most %d bytes, and this has %d: set XDG_RUNTIME_DIR to a shorter directory", path, maxSocketPath, len(path))
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
	listener.SetUnlinkOnClose(false) // it has another name then
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

// private reports, as nil or an error, whether a directory is this user's, and nobody else can enter it.
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

// Sockets returns the sockets that are there, of gateways that live or not. Directories that are not private are not looked into: whoever put something there is not to be talked to.
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

// ReachSocket connects to a socket. One whose owner is dead is removed, and the error is [fs.ErrNotExist].
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

// SweepSockets removes the sockets of gateways that have died without doing so.
func SweepSockets(ctx context.Context) {
	for _, path := range Sockets() {
		if conn, err := ReachSocket(ctx, path); err == nil {
			_ = conn.Close()
		}
	}
}
