// Package httphost decides which Host headers an HTTP server accepts. A web page of another site
// can make a browser send requests with its own host to a server on this machine or in its network
// (DNS rebinding).
package httphost

import (
	"net"
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/internal/hostname"
)

// Names returns the names of hosts, as [Allows] compares them.
func Names(hosts []string) []string {
	names := slices.Clone(hosts)
	for i, host := range names {
		names[i] = hostname.Of(host)
	}
	return names
}

// Allows reports whether the host of a request is one of these names or, without names, whether the
// request may come to the address at which it came: a loopback address is only for hosts that are
// this machine.
func Allows(names []string, r *http.Request) bool {
	host := hostname.Of(r.Host)
	if len(names) > 0 {
		return slices.Contains(names, host)
	}
	return !IsLocal(r) || hostname.IsLoopback(host)
}

// IsLocal reports whether a request came to a loopback address.
func IsLocal(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}
