package api

import (
	"net/http"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httphost"
)

// guard refuses requests that a web page of another site makes a browser send.
func (x *exchange) guard() *refusal {
	if !httphost.Allows(x.o.AllowedHosts, x.r) {
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
