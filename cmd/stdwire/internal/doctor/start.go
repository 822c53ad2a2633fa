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

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/rpc"
)

// connectErrors maps errors of connecting to a URL to an explanation and a remedy. The first match
// is used.
var connectErrors = []struct {
	matches      func(error) bool
	what, remedy string
}{
	{target.IsError[x509.UnknownAuthorityError],
		"its certificate is not signed by an authority that this machine trusts",
		"add the authority's certificate to the system's, or set SSL_CERT_FILE to its file"},
	{target.IsError[x509.HostnameError], "its certificate is for another host",
		"use a host name of the certificate in the URL"},
	{target.IsError[x509.CertificateInvalidError], "its certificate is not valid",
		"the operator of the server must renew it; or the clock of this machine is wrong"},
	{either(target.MatchesError(http.ErrSchemeMismatch), target.IsError[tls.RecordHeaderError]),
		"the server does not use TLS at that port",
		"use http:// in the URL if the server does, or check the port"},
	{target.IsError[*tls.CertificateVerificationError], "its certificate cannot be verified",
		"the operator of the server must check it"},
	{target.IsError[*net.DNSError], "its host name cannot be resolved",
		"check the name, the network, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY"},
	{target.MatchesError(socket.Refused), "nothing listens at that address",
		"start the server, or check the port in the URL"},
	{status(http.StatusUnauthorized), "it requires authorization",
		"send a token: set the header Authorization in its configuration, or use --header Authorization:@FILE"},
	{status(http.StatusForbidden), "it denies access",
		"the token may be wrong or lack a scope; some servers also refuse unknown hosts and origins"},
	{status(http.StatusNotFound), "the server has nothing at that path",
		"many servers use the path /mcp, older ones /sse"},
	{status(http.StatusMethodNotAllowed), "the server does not serve MCP at that path",
		"many servers use the path /mcp, older ones /sse"},
	{status(http.StatusProxyAuthRequired), "the proxy requires authentication",
		"add user and password to HTTPS_PROXY, or add the host to NO_PROXY"},
	{status(http.StatusTooManyRequests), "it limits the rate of requests", "try again later"},
	{serverError, "it failed, or a proxy in front of it cannot reach it",
		"its log may have the reason"},
	{target.IsError[*streamable.StatusError], "it refuses the requests of an MCP client",
		"check that the URL is that of an MCP server"},
}

// status matches a response with an HTTP status.
func status(code int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*streamable.StatusError](err)
		return ok && e.Status == code
	}
}

// serverError matches a response with a status of 500 or above.
func serverError(err error) bool {
	e, ok := errors.AsType[*streamable.StatusError](err)
	return ok && e.Status >= http.StatusInternalServerError
}

func either(a, b func(error) bool) func(error) bool {
	return func(err error) bool { return a(err) || b(err) }
}

// withheld returns the hint that a configured server did not inherit all variables, or "".
func (p *subject) withheld() string {
	if p.server == nil || p.server.URL != "" {
		return ""
	}
	text := target.Withheld(client.Command{Env: p.server.Env, InheritEnv: p.server.InheritEnv})
	if text != "" {
		text += `: "inheritEnv" in its configuration names those that it needs`
	}
	return text
}

// usageStatus is the exit status of most programs for arguments that they do not know, which no
// variable of the environment mends.
const usageStatus = 2

// recordFailure adds findings about an error of connecting to a server.
func (r *Report) recordFailure(err error, observer *handshakeObserver, p *subject) {
	if e, ok := errors.AsType[*config.ResolveError](err); ok {
		r.add(Broken, e.Reason(), "")
		return
	}
	f := target.Explain(err)
	if f == nil {
		r.add(Broken, err.Error(), "")
		return
	}
	failed, _ := errors.AsType[*client.StartError](err)
	if failed != nil && failed.Stats.Junk > 0 {
		f.Why = failed.Err.Error() // the output is a finding of its own
	}
	what, hint := f.Why, f.Hint
	for _, o := range connectErrors {
		if o.matches(err) {
			what, hint = o.what+" ("+f.Why+")", o.remedy
			break
		}
	}
	switch f.Code {
	case "spawn_failed":
		hint = cmp.Or(hint,
			"install it, or configure its absolute path; the PATH of a server is PATH in its env, or that of the program that starts it")
	case "start_exit":
		hint = cmp.Or(hint, "to see all of its output: stdwire inspect --server-logs "+p.arguments)
		if exit, ok := errors.AsType[*client.ExitError](err); !ok || exit.Status != usageStatus {
			hint = command.JoinNonEmpty("; ", hint, p.withheld())
		}
	case "start_timeout":
		hint = command.JoinNonEmpty("; ", hint, p.withheld())
	}
	if target.IsError[*rpc.Error](err) {
		what, hint = "it refuses the handshake: "+f.Why, cmp.Or(hint, "its log may have the reason")
	}
	if errors.Is(err, rpc.ErrProtocol) {
		hint = cmp.Or(hint, "check that it is an MCP server")
	}
	r.add(Broken, what, hint)
	if failed != nil && failed.Stats.Junk > 0 && !errors.Is(err, context.Canceled) {
		r.add(Warning,
			fmt.Sprintf("it wrote text to stdout that is not a message, %s, the first: %s",
				command.Plural(failed.Stats.Junk, "line"), failed.Stats.Samples[0]),
			"logs belong on stderr")
	}
}
