package auth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/internal/keepalive"
)

// reservedPrefixes are networks outside the public internet that [netip.Addr] has no method for.
var reservedPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// isPrivate reports whether ip is not a public unicast address, or is translated to another
// address.
func isPrivate(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return true
	}
	return slices.ContainsFunc(reservedPrefixes, func(p netip.Prefix) bool {
		return p.Contains(ip)
	})
}

// allowPrivateKey is the context key that allows a request to connect to private addresses.
type allowPrivateKey struct{}

// defaultHTTPClient returns the client for requests to authorization servers. A URL that the MCP
// server names could lead into the network of the program's host, which the server itself cannot
// reach. So private addresses are refused once the connection's address is known, unless all
// connections to the MCP server used private ones. If a proxy is configured, the decision is the
// proxy's.
func (a *Authorizer) defaultHTTPClient() *http.Client {
	checkAddress := func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		allowed, _ := ctx.Value(allowPrivateKey{}).(bool)
		if allowed || !isPrivate(at.Addr()) {
			return nil
		}
		return fmt.Errorf(
			"%s is a private address, but the MCP server has a public one: not connected",
			at.Addr())
	}
	dialer := net.Dialer{Timeout: 10 * time.Second, ControlContext: checkAddress}
	direct := keepalive.Transport()
	direct.Proxy, direct.DialContext, direct.DisableKeepAlives = nil, dialer.DialContext, true
	direct.MaxResponseHeaderBytes, direct.TLSClientConfig = 64<<10, a.options.TLS.Clone()
	proxied := direct.Clone()
	proxied.Proxy = http.ProxyFromEnvironment
	proxied.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil {
			return proxied.RoundTrip(req)
		}
		if a.options.AllowPrivate || a.sawPrivate.Load() && !a.sawPublic.Load() {
			req = req.WithContext(context.WithValue(req.Context(), allowPrivateKey{}, true))
		}
		return direct.RoundTrip(req)
	})}
}

// isAddressUnknown reports whether private addresses are decided by the address of the MCP server,
// and no request has been sent to it yet.
func (a *Authorizer) isAddressUnknown() bool {
	return a.options.HTTP == nil && !a.options.AllowPrivate && !a.proxied && !a.sawPrivate.Load() &&
		!a.sawPublic.Load()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// traceAddress returns a context whose requests to the MCP server record whether they connect to a
// private or a public address. Through a proxy, nothing is recorded.
func (a *Authorizer) traceAddress(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if a.proxied {
				return
			}
			if at, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil &&
				isPrivate(at.Addr()) {
				a.sawPrivate.Store(true)
			} else {
				a.sawPublic.Store(true)
			}
		}})
}
