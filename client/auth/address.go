package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/internal/oauth"
)

// checkURL refuses an address that no secret may be sent to and no answer be believed from: one without TLS, but for this machine itself (OAuth 2.1, section 1.5).
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("that is no URL")
	case u.Host == "" || u.Opaque != "":
		return errors.New("that names no host")
	case u.User != nil:
		return errors.New("a URL with a user in it is not used")
	case u.Fragment != "":
		return errors.New("a URL with a fragment is not used")
	case u.Scheme == "https", u.Scheme == "http" && oauth.IsLoopback(u.Hostname()):
		return nil
	}
	return errors.New("only https is used, and http on this machine")
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// reservedPrefixes are networks that are nobody's on the internet, beside those that [netip.Addr] knows.
var reservedPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// isPrivate reports an address that means something else to everybody, or leads to something else.
func isPrivate(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return true
	}
	for _, p := range reservedPrefixes {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// allowPrivateKey is of a context whose requests may go to private addresses.
type allowPrivateKey struct{}

// defaultHTTPClient makes the requests to authorization servers. What a server names may be an address in the network of whoever runs the program, which the server
// cannot reach itself: such addresses are refused, when the connection is made and its address is known, unless the server is at one too. Where there is a
// proxy, it decides.
func (a *Authorizer) defaultHTTPClient() *http.Client {
	dialer := net.Dialer{Timeout: 10 * time.Second, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if anywhere, _ := ctx.Value(allowPrivateKey{}).(bool); anywhere || !isPrivate(at.Addr()) {
			return nil
		}
		return fmt.Errorf("%s is a private address, and the server that leads there is at none: it is not asked", at.Addr())
	}}
	direct := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 10 * time.Second, MaxIdleConns: 10,
		MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
	}
	proxied := direct.Clone()
	proxied.Proxy, proxied.DialContext = http.ProxyFromEnvironment, (&net.Dialer{Timeout: 10 * time.Second}).DialContext
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

// isAddressUnknown says that it is not known yet where the server is, and matters: no request has been sent to it.
func (a *Authorizer) isAddressUnknown() bool {
	return a.options.HTTP == nil && !a.options.AllowPrivate && !a.proxied && !a.sawPrivate.Load() && !a.sawPublic.Load()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// traceAddress has it noticed whether requests to the MCP server go to a private address, each of them. Behind a proxy, that is not known.
func (a *Authorizer) traceAddress(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if a.proxied {
			return
		}
		if at, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil && isPrivate(at.Addr()) {
			a.sawPrivate.Store(true)
		} else {
			a.sawPublic.Store(true)
		}
	}})
}
