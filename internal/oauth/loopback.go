package oauth

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether the host of a URL is this machine, for which http: is allowed (OAuth
// 2.1, section 1.5). It does not resolve names: the only name of this machine is localhost.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
