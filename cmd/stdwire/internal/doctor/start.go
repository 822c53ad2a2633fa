package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/rpc"
)

// connectErrors maps errors of connecting to a URL to an explanation and a remedy. The first match
// counts.
var connectErrors = []struct {
	matches   func(error) bool
	what, way string
}{
	{target.IsError[x509.UnknownAuthorityError],
		"its certificate is signed by nobody whom this machine trusts",
		"add the certificate of the authority to the system's, or name its file in SSL_CERT_FILE"},
	{target.IsError[x509.HostnameError], "its certificate is for another host",
		"use the name in the URL that the certificate has"},
	{target.IsError[x509.CertificateInvalidError], "its certificate is not valid",
		"whoever runs the server has to renew it; or the clock of this machine is wrong"},
	{either(target.MatchesError(http.ErrSchemeMismatch), target.IsError[tls.RecordHeaderError]),
		"there is no TLS at that port",
		"write http:// if that is what it speaks, or look for the right port"},
	{target.IsError[*tls.CertificateVerificationError], "its certificate is not good",
		"whoever runs the server has to look at it"},
	{target.IsError[*net.DNSError], "its host name cannot be resolved",
		"check the name, the network, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY"},
	{target.MatchesError(socket.Refused), "nothing listens there",
		"start it; or look at the port in the URL"},
	{status(http.StatusUnauthorized), "it wants to know who is there",
		"give it a token: a header Authorization in its configuration, or --header Authorization:@FILE"},
	{status(http.StatusForbidden), "it knows who is there, and refuses",
		"the token may be the wrong one, or not be good for this; some servers also refuse hosts and origins that they do not know"},
	{status(http.StatusNotFound), "there is nothing at that path",
		"many servers are at /mcp, older ones at /sse"},
	{status(http.StatusMethodNotAllowed), "at that path there is something else than MCP",
		"many servers are at /mcp, older ones at /sse"},
	{status(http.StatusProxyAuthRequired), "the proxy before it wants to know who is there",
		"write user and password into HTTPS_PROXY, or name the host in NO_PROXY"},
	{status(http.StatusTooManyRequests), "it is asked too often", "try again later"},
	{failing, "it has failed, or what stands before it does not reach it",
		"its log has the reason"},
	{target.IsError[*streamable.StatusError], "it refuses what a client of MCP sends",
		"look whether the URL is that of an MCP server"},
}

// status matches a response with an HTTP status.
func status(code int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*streamable.StatusError](err)
		return ok && e.Status == code
	}
}

// failing matches a response with a status of 500 or above.
func failing(err error) bool {
	e, ok := errors.AsType[*streamable.StatusError](err)
	return ok && e.Status >= http.StatusInternalServerError
}

func either(a, b func(error) bool) func(error) bool {
	return func(err error) bool { return a(err) || b(err) }
}

// recordFailure adds why there is no connection to a server.
func (chart *Report) recordFailure(err error, saw *handshakeObserver, p *subject) {
	if e, ok := errors.AsType[*config.ResolveError](err); ok {
		chart.add(Broken, e.Reason(), "")
		return
	}
	f := target.Explain(err)
	if f == nil {
		chart.add(Broken, err.Error(), "")
		return
	}
	what, hint := f.Why, f.Hint
	for _, o := range connectErrors {
		if o.matches(err) {
			what, hint = o.what+" ("+f.Why+")", o.way
			break
		}
	}
	switch f.Code {
	case "spawn_failed":
		hint = cmp.Or(hint,
			"install it, or write its whole path; the PATH of a server is PATH in its env, or that of who starts it")
	case "start_exit":
		hint = cmp.Or(hint, "all that it says: stdwire inspect --server-logs "+p.arguments)
	}
	if target.IsError[*rpc.Error](err) {
		what, hint = "it refuses to begin: "+f.Why, cmp.Or(hint, "its log may have the reason")
	}
	if errors.Is(err, rpc.ErrProtocol) {
		hint = cmp.Or(hint, "look whether it is an MCP server at all")
	}
	chart.add(Broken, what, hint)
	if lines, sample := saw.noise(); lines > 0 && !errors.Is(err, context.Canceled) {
		chart.add(Warning,
			fmt.Sprintf("it wrote to stdout what is no message, %s, the first: %s",
				command.Plural(lines, "line"), sample), "logs belong on stderr")
	}
}
