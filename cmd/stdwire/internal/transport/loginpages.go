package transport

import (
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/httphost"
)

// publicBase returns the URL without a path at which browsers reach a listener, or "" if it is not
// known or they could be overheard.
func (w *HTTPFlags) publicBase(l *httpListener) string {
	bases := []string{w.Public}
	for _, public := range []string{w.oauth.audience, w.card.url} {
		if base, ok := strings.CutSuffix(public, mainPath); ok {
			bases = append(bases, base)
		}
	}
	if l.local {
		bases = append(bases, l.base)
	}
	for _, base := range bases {
		if base != "" && login.CheckBase(base) == nil {
			return base
		}
	}
	return ""
}

// announceLogins tells the logins at which URL browsers reach the server, and says what they lack.
func (w *HTTPServer) announceLogins(std *term.Streams, l *httpListener) {
	base := w.publicBase(l)
	w.Logins.SetBase(base)
	switch {
	case !w.Logins.InUse():
	case base == "":
		std.Err.Printf("warning: users cannot log in to servers, because the https: URL of this gateway is not known: add --public-url URL")
	case !w.KeepsLogins:
		std.Err.Printf("note: the logins of users at servers are kept in memory and end with this process; with --credentials-key-env they are kept in a file")
	}
}

// loginPages returns a handler that serves the pages, and passes other requests to next. They
// precede what observes requests, because their URLs have secrets.
func loginPages(l *login.Logins, allowed []string, next http.Handler) http.Handler {
	names, pages := httphost.Names(allowed), l.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, login.Path):
			next.ServeHTTP(w, r)
		case !httphost.Allows(names, r):
			http.Error(w, "the host is not allowed", http.StatusForbidden)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}
