//go:build unix

package socket

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// A sweep removes what a process that has ended left, keeps the sockets of others, and does not
// connect to those of this process.
func TestSweepSockets(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sw") // TMPDIR may be longer
	assert.NilError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR"} {
		t.Setenv(name, dir)
	}
	listen := func() (net.Listener, string) {
		l, path, err := ListenClients()
		assert.NilError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		assert.Equal(t, filepath.Dir(path), filepath.Join(dir, "stdwire"))
		return l, path
	}
	own, ownPath := listen()
	other, otherPath := listen()
	ended, endedPath := listen()
	assert.NilError(t, ended.Close())

	SweepSockets(t.Context(), ownPath)
	kept := []string{ownPath, otherPath}
	slices.Sort(kept)
	assert.DeepEqual(t, sockets(clientsSuffix), kept)
	conn, err := other.Accept()
	assert.NilError(t, err)
	assert.NilError(t, conn.Close())
	_, err = os.Stat(endedPath)
	assert.Assert(t, os.IsNotExist(err), err)
	first, err := net.Dial("unix", ownPath)
	assert.NilError(t, err)
	defer first.Close()
	_, err = first.Write([]byte("x"))
	assert.NilError(t, err)
	conn, err = own.Accept()
	assert.NilError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	assert.NilError(t, err, "it was the sweep that connected first")
}
