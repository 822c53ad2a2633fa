package keepalive

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT, in milliseconds.
const tcpUserTimeout = 0x12

// limitUnacknowledged ends the connection when data is unacknowledged for too long. By default,
// Linux repeats it for 15 minutes. An error leaves the connection as it is: the socket may be one
// of Unix.
func limitUnacknowledged(c syscall.RawConn) {
	_ = c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout,
			int(unacknowledged.Milliseconds()))
	})
}
