package api

import (
	"net"
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/hostname"
)

// guard refuses requests that a web page of another site makes a browser send.
func (x *exchange) guard() *refusal {
	if !x.allowsHost(hostname.Of(x.r.Host)) {
		return refuse(http.StatusForbidden, dispatch.PermissionDenied,
			"the host %.100q is not allowed here; if it should be, add it to the allowed hosts",
			x.r.Host)
	}
	if err := x.origins.Check(x.r); err != nil {
		return refuse(http.StatusForbidden, dispatch.PermissionDenied,
			"a page of another origin may not call this")
	}
	return nil
}

// allowsHost reports whether a request's Host header may have this name.
func (x *exchange) allowsHost(name string) bool {
	if len(x.o.AllowedHosts) > 0 {
		return slices.Contains(x.o.AllowedHosts, name)
	}
	address, ok := x.r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || !address.IP.IsLoopback() || hostname.IsLoopback(name)
}
