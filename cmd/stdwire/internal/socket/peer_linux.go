package socket

import (
	"net"
	"syscall"
)

// HasPeers says that the system tells who is at the other end of a Unix socket.
const HasPeers = true

// peerOf returns the user and the group of the process that connected (unix(7), SO_PEERCRED).
func peerOf(conn net.Conn) (uid, gid uint32, ok bool) {
	if _, unix := conn.(*net.UnixConn); !unix {
		return 0, 0, false
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	failed := raw.Control(func(fd uintptr) {
		var found *syscall.Ucred
		if found, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET,
			syscall.SO_PEERCRED); err == nil {
			uid, gid = found.Uid, found.Gid
		}
	})
	return uid, gid, failed == nil && err == nil
}
