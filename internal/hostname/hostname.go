// Package hostname reads the hosts of URLs and of Host headers.
package hostname

import (
	"net"
	"net/netip"
	"strings"
)

// Of returns the name or address in the host of a URL or of a Host header: in lower case, without
// port and without brackets.
func Of(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(host)
}

// IsLoopback reports whether a name or address, without port and brackets, is this machine. It does
// not resolve names: the only name of this machine is localhost. No web site can own one of these.
func IsLoopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
