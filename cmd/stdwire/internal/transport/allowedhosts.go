package transport

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/httphost"
)

// allowedHosts are the values of --http-host.
type allowedHosts []string

const hostFlag = "--http-host"

func (h *allowedHosts) flag() command.Flag {
	return command.Flag{Name: hostFlag, Value: "NAME", Many: true,
		Synonyms: []string{"--allowed-hosts", "--allowed-host", "--server-name"},
		Help:     "an allowed host: a name in the URLs of clients, in addition to localhost and the address of --http; others are refused",
		Set: func(value string) error {
			if hostname.Of(value) == "" || strings.ContainsAny(value, "/*@ ") {
				return command.Usagef("%s: %q is not the name of a host", hostFlag, value).
					WithHint("write it as in a URL, without scheme and path: gw.example.com")
			}
			*h = append(*h, hostname.Of(value))
			return nil
		}}
}

// given returns the name of the flag if it is given, or "".
func (h allowedHosts) given() string {
	if h == nil {
		return ""
	}
	return hostFlag
}

// allowedHosts returns the host names that requests to l may have: those of --http-host, of the
// public URLs that other flags give, the address of l if it is one, and localhost. It returns nil,
// the default of [streamable.Options], if no flag gives one, or if other machines reach l and
// --http-host is not given.
func (w *HTTPFlags) allowedHosts(l *httpListener) []string {
	if !l.local && w.hosts == nil {
		return nil
	}
	names := slices.Clone(w.hosts)
	for _, public := range []string{w.oauth.audience, w.card.url, w.Public, w.Replica} {
		if u, err := url.Parse(public); err == nil && u.Host != "" {
			names = append(names, u.Host)
		}
	}
	if names == nil {
		return nil
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsUnspecified() {
		names = append(names, at.IP.String())
	}
	return append(names, "localhost", "127.0.0.1", "[::1]")
}

// CheckReplicaURL returns an error if other servers cannot reach this one at a URL. "" is no URL.
// hasCertificate says whether they, which have the same flags, have a certificate for it.
func (w *HTTPFlags) CheckReplicaURL(replica string, hasCertificate bool) error {
	switch {
	case replica == "":
	case w.Address == "":
		return command.Usagef("--replica-url is for sessions over HTTP").WithHint("add --http ADDR")
	case w.tls.certificate != "" && strings.HasPrefix(strings.ToLower(replica), "http:"):
		return command.Usagef("with --tls-cert, other servers reach this one with https only").
			WithHint("write --replica-url https://…, and name an authority that is not one of the " +
				"system with --replica-ca FILE")
	case w.tls.clientCA != "" && !hasCertificate:
		return command.Usagef("with --tls-client-ca, servers need a certificate for one another").
			WithHint("add --replica-cert FILE --replica-key FILE, of an authority of --tls-client-ca")
	}
	return nil
}

// warnOfHosts returns a handler that calls next, and prints a warning at the first request for a
// host that is refused, because only the operator can allow it.
func warnOfHosts(std *term.Streams, allowed []string, next http.Handler) http.Handler {
	names := httphost.Names(allowed)
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guarded := strings.HasPrefix(r.URL.Path, mainPath) || strings.HasPrefix(r.URL.Path, apiPath)
		if guarded && !httphost.Allows(names, r) {
			once.Do(func() {
				std.Err.Printf("warning: a request for the host %.100q is refused; %s NAME allows it",
					r.Host, hostFlag)
			})
		}
		next.ServeHTTP(w, r)
	})
}
