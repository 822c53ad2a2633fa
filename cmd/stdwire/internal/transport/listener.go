package transport

import (
	"net"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
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
			return nil, command.Usagef("%v",
				err).WithHint("the port may be in use; 127.0.0.1:0 selects a free one")
		}
	}
	l := &httpListener{Listener: bound, base: w.baseURL(bound.Addr().String()), local: true}
	if at, ok := bound.Addr().(*net.TCPAddr); ok {
		l.local = at.IP.IsLoopback()
	} else {
		l.base = w.baseURL(unixPrefix + bound.Addr().String())
	}
	return l, nil
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
