package transport

import (
	"errors"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

// The values of --http that are not addresses.
const (
	unixPrefix    = "unix:"
	systemdSocket = "systemd"
)

// An httpListener is the socket on which HTTP is served.
type httpListener struct {
	net.Listener
	base  string // the URL without a path
	local bool   // only processes of this machine can connect
	all   bool   // at all addresses of this machine
}

// checkAddress returns an error unless listen may accept the value of --http.
func checkAddress(value string) error {
	path, isPath := strings.CutPrefix(value, unixPrefix)
	if isPath && path != "" || value == systemdSocket {
		return nil
	}
	if _, _, err := net.SplitHostPort(value); err != nil || isPath {
		return command.Usagef("--http: %q is not an address",
			value).WithHint("write 127.0.0.1:8080, 127.0.0.1:0 for any free port, unix:PATH or systemd")
	}
	return nil
}

// listen listens at the address of --http.
func (w *HTTPFlags) listen() (*httpListener, error) {
	var bound net.Listener
	var err error
	path, isPath := strings.CutPrefix(w.Address, unixPrefix)
	switch {
	case isPath:
		if bound, err = listenUnix(path); err != nil {
			return nil, command.Usagef("--http: %v", err)
		}
	case w.Address == systemdSocket:
		if bound, err = inheritSocket(); err != nil {
			return nil, command.Usagef("--http systemd: %v",
				err).WithHint("let a .socket unit start it: see stdwire help systemd")
		}
	default:
		if bound, err = net.Listen("tcp", w.Address); err != nil {
			return nil, command.Usagef("%v", err).WithHint(listenHint(err))
		}
	}
	l := &httpListener{Listener: bound, base: w.baseURL(bound.Addr().String()), local: true}
	if at, ok := bound.Addr().(*net.TCPAddr); ok {
		l.local, l.all = at.IP.IsLoopback(), at.IP.IsUnspecified()
		if l.all { // it is no address to connect to
			l.base = w.baseURL(net.JoinHostPort("localhost", strconv.Itoa(at.Port)))
		}
	} else {
		l.base = w.baseURL(unixPrefix + bound.Addr().String())
	}
	return l, nil
}

// listenHint returns the remedy for an error of [net.Listen].
func listenHint(err error) string {
	switch {
	case target.IsError[*net.DNSError](err):
		return "give an address of this machine, or :PORT for all; " + hostFlag +
			" allows names that clients use"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine has no such address; :PORT is all that it has"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not use the port; those above 1023 need no permission"
	}
	return "the port may be in use; 127.0.0.1:0 selects a free one"
}

// baseURL returns the URL of an address without a path. A Unix socket is written in the form of
// nginx: http://unix:/run/x.sock:/mcp.
func (w *HTTPFlags) baseURL(address string) string {
	scheme := "http://"
	if w.tls.given() != "" {
		scheme = "https://"
	}
	if strings.HasPrefix(address, unixPrefix) {
		address += ":"
	}
	return scheme + address
}
