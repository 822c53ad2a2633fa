package streamable

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// checkHostAndOrigin refuses requests that web pages of other origins make a browser send, DNS
// rebinding included (2026-07-28, basic/transports/streamable-http, Security & Endpoint).
func (x *httpRequest) checkHostAndOrigin() *refusal {
	if !httphost.Allows(x.o.AllowedHosts, x.r) {
		return newRefusal(http.StatusForbidden, rpc.CodeInvalidRequest,
			"the host %.100q is not allowed here; if it should be, add it to the allowed hosts",
			x.r.Host)
	}
	origins := x.r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	origin := strings.ToLower(origins[0])
	if len(origins) == 1 && x.isAllowedOrigin(origin) {
		x.setCORSHeaders(origins[0])
		return nil
	}
	local := httphost.IsLocal(x.r)
	known := local || len(x.o.AllowedHosts) > 0 // Allows has checked the host
	if !known {
		_, err := netip.ParseAddr(hostname.Of(x.r.Host))
		known = err == nil
	}
	page, err := url.Parse(origin)
	same := err == nil && page.Host != "" &&
		(page.Host == strings.ToLower(x.r.Host) || local && hostname.IsLoopback(page.Hostname()))
	if len(origins) > 1 || !same || !known {
		return newRefusal(http.StatusForbidden, rpc.CodeInvalidRequest,
			"pages of this origin may not call this; it would have to be among the allowed origins")
	}
	return nil
}

func (x *httpRequest) isAllowedOrigin(origin string) bool {
	return slices.Contains(x.o.AllowedOrigins, origin) || slices.Contains(x.o.AllowedOrigins, "*")
}

// setCORSHeaders allows a page of an allowed origin to read the response.
func (x *httpRequest) setCORSHeaders(origin string) {
	header := x.w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", mcp.HeaderSessionID+
		", WWW-Authenticate, DPoP-Nonce, Retry-After")
	header.Add("Vary", "Origin")
}

// preflight answers a CORS preflight request of an allowed origin.
func (x *httpRequest) preflight() bool {
	header := x.w.Header()
	if header.Get("Access-Control-Allow-Origin") == "" ||
		x.r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	if wanted := x.r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		header.Set("Access-Control-Allow-Headers", wanted)
	}
	header.Set("Access-Control-Max-Age", "600")
	x.w.WriteHeader(http.StatusNoContent)
	return true
}
