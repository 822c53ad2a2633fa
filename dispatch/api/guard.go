package api

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// loopback are the names that a request to a loopback address may come for: a web site cannot make
// any of them its own.
var loopback = [...]string{"localhost", "127.0.0.1", "::1"}

// guard keeps out what web pages of other sites make a browser send.
func (x *exchange) guard() *refusal {
	if !x.mayBeCalled(hostname(x.r.Host)) {
		return refuse(http.StatusForbidden, dispatch.PermissionDenied,
			"this is not the host %.100q; if it is meant to be, its name has to be among the allowed hosts",
			x.r.Host)
	}
	if err := x.origins.Check(x.r); err != nil {
		return refuse(http.StatusForbidden, dispatch.PermissionDenied,
			"a page of another origin may not call this")
	}
	return nil
}

// mayBeCalled reports whether a request for the host of that name is one for this handler.
func (x *exchange) mayBeCalled(name string) bool {
	if len(x.o.AllowedHosts) > 0 {
		return slices.Contains(x.o.AllowedHosts, name)
	}
	address, ok := x.r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || !address.IP.IsLoopback() || slices.Contains(loopback[:], name)
}

// hostname returns the host of what may have a port behind it and brackets around it, in lower
// case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(host)
}
