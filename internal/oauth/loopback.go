package oauth

import (
	"net/netip"
	"strings"
)

// IsLoopback says whether the host of a URL is this machine itself, to which http: may be spoken (OAuth 2.1, section 1.5). Nobody is asked for that: a name is this machine only
// if it is localhost.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
