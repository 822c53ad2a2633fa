// Package origin decides which web pages may call a server (CORS, and DNS rebinding).
package origin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Check returns an error, whose text is for the client, for a request that a web page of another
// origin makes a browser send, DNS rebinding included (2026-07-28,
// basic/transports/streamable-http, Security & Endpoint). hosts and origins are those allowed, as
// in the options of package streamable. A page of an allowed origin may read the response.
func Check(w http.ResponseWriter, r *http.Request, hosts, origins []string) error {
	if !httphost.Allows(hosts, r) {
		return fmt.Errorf(
			"the host %.100q is not allowed here; if it should be, add it to the allowed hosts", r.Host)
	}
	claimed := r.Header["Origin"]
	if len(claimed) == 0 {
		return nil
	}
	origin := strings.ToLower(claimed[0])
	if len(claimed) == 1 && (slices.Contains(origins, origin) || slices.Contains(origins, "*")) {
		setHeaders(w.Header(), claimed[0])
		return nil
	}
	local := httphost.IsLocal(r)
	known := local || len(hosts) > 0 // Allows has checked the host
	if !known {
		_, err := netip.ParseAddr(hostname.Of(r.Host))
		known = err == nil
	}
	page, err := url.Parse(origin)
	same := err == nil && page.Host != "" &&
		(page.Host == strings.ToLower(r.Host) || local && hostname.IsLoopback(page.Hostname()))
	if len(claimed) > 1 || !same || !known {
		return errors.New(
			"pages of this origin may not call this; it would have to be among the allowed origins")
	}
	return nil
}

// setHeaders allows a page of an allowed origin to read the response.
func setHeaders(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", mcp.HeaderSessionID+
		", WWW-Authenticate, DPoP-Nonce, Retry-After")
	header.Add("Vary", "Origin")
}

// Preflight answers a request that Check has allowed, if it is a CORS preflight request. It reports
// whether it is.
func Preflight(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	if r.Method != http.MethodOptions || header.Get("Access-Control-Allow-Origin") == "" ||
		r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		header.Set("Access-Control-Allow-Headers", wanted)
	}
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
