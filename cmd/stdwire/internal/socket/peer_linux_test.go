package socket

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"
)

// The other end of a Unix socket is the user of its process; other connections have none.
func TestPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	assert.NilError(t, err)
	defer l.Close()
	near, err := net.Dial("unix", path)
	assert.NilError(t, err)
	defer near.Close()
	far, err := l.Accept()
	assert.NilError(t, err)
	defer far.Close()
	peer := Peer(far)
	id := peer()
	assert.Assert(t, id != nil && peer() == id)
	number := strconv.Itoa(os.Getuid())
	assert.Equal(t, string(id.Claims["uid"]), number)
	assert.Equal(t, string(id.Claims["gid"]), strconv.Itoa(os.Getgid()))
	want := number
	if u, err := user.LookupId(number); err == nil {
		want = u.Username
		if g, err := user.LookupGroupId(u.Gid); err == nil {
			assert.Assert(t, slices.Contains(id.Groups, g.Name), "%q", id.Groups)
		}
	}
	assert.Equal(t, id.Principal(), "unix#"+want)

	_ = far.Close()
	assert.Assert(t, Peer(far)() == nil, "a closed connection")
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	assert.Assert(t, Peer(pipe)() == nil)
}
