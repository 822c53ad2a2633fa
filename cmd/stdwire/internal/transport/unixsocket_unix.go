//go:build unix

package transport

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// A unixListener is a socket to which only its user can connect. Close removes it.
type unixListener struct {
	*net.UnixListener
	path   string
	file   fs.FileInfo // of the path
	closed sync.Once
}

// listenUnix listens at a path, where it replaces the socket of a process that has ended.
func listenUnix(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := socket.CheckPath(path); err != nil {
		return nil, err
	}
	// Nobody can connect before the permissions are right, and no other socket is replaced.
	dir := filepath.Dir(path)
	own := filepath.Join(dir, "."+rand.Text()[:6])
	bare := filepath.Join(own, "s")
	if over := len(bare) - socket.MaxPath; over > 0 {
		return nil, fmt.Errorf("%s: the directory of a socket has at most %d bytes, and this has %d",
			path, len(dir)-over, len(dir))
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(own, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	bound, err := net.ListenUnix("unix", &net.UnixAddr{Name: bare, Net: "unix"})
	if err != nil {
		return nil, err
	}
	bound.SetUnlinkOnClose(false) // it is renamed
	l := &unixListener{UnixListener: bound, path: path}
	if err = os.Chmod(bare, 0o600); err == nil {
		err = atomicfile.Move(bare, path)
	}
	if err == nil {
		l.file, err = os.Lstat(path)
	}
	if err != nil {
		_ = bound.Close()
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("another program has just begun to listen at %s", path)
		}
		return nil, err
	}
	return l, nil
}

// removeStale removes a socket on which no process listens.
func removeStale(path string) error {
	found, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case found.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket: remove it, or choose another path", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another program listens at %s: stop it, or choose another path", path)
	}
	if !errors.Is(err, socket.Refused) {
		return err
	}
	// The socket is renamed first, because another program may have replaced it meanwhile.
	aside := filepath.Join(filepath.Dir(path), "."+rand.Text())
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	if renamed, err := os.Lstat(aside); err != nil || !os.SameFile(found, renamed) {
		return errors.Join(fmt.Errorf("another program has just begun to listen at %s", path),
			atomicfile.Move(aside, path))
	}
	return os.Remove(aside)
}

// Addr implements [net.Listener].
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close stops listening and removes the socket, unless another program has replaced it.
func (l *unixListener) Close() error {
	l.closed.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}
