package keepalive

import (
	"net"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Both ends limit how long data may remain unacknowledged.
func TestUnacknowledged(t *testing.T) {
	bound, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	l := Listener(bound)
	defer l.Close()
	dialed, err := Dialer(time.Minute).DialContext(t.Context(), "tcp", l.Addr().String())
	assert.NilError(t, err)
	defer dialed.Close()
	accepted, err := l.Accept()
	assert.NilError(t, err)
	defer accepted.Close()
	for _, c := range []net.Conn{dialed, accepted} {
		raw, err := c.(*net.TCPConn).SyscallConn()
		assert.NilError(t, err)
		for option, want := range map[int]int{tcpUserTimeout: 60_000, syscall.TCP_KEEPIDLE: 15,
			syscall.TCP_KEEPINTVL: 15, syscall.TCP_KEEPCNT: 3} {
			var got int
			assert.NilError(t, raw.Control(func(fd uintptr) {
				got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option)
			}))
			assert.NilError(t, err)
			assert.Equal(t, got, want, "option %d", option)
		}
	}
}
