package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/quota"
)

// access decides which requests are served. The address that stdwire prints has a token in its
// fragment, which browsers do not send. The page exchanges the token, once, for a key, and sends
// the key with each request. Requests of other origins have neither and are refused. So are
// requests for a host name that an attacker's DNS could point here.
type access struct {
	names   []string // host names that requests may have, beside IP addresses and localhost
	origins http.CrossOriginProtection
	bodies  *quota.Pool // bytes of the bodies of requests with the key

	mu    sync.Mutex
	token string // "" once it is exchanged
	key   string
}

func newAccess(names ...string) *access {
	return &access{names: names, bodies: quota.NewPool(maxBodies), token: rand.Text(),
		key: rand.Text()}
}

// policy is the Content-Security-Policy of all answers: only this server's scripts run, and no text
// becomes script or markup. Images and sound are made from data that the page has already.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' blob: data:; media-src blob:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard refuses requests of other sites, and adds the headers that protect the page.
func (a *access) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !a.allowsHost(r.Host):
			reply.Refuse(w, http.StatusForbidden, "this host name is not allowed here: use the IP address")
		case a.origins.Check(r) != nil || !sameOrigin(r):
			reply.Refuse(w, http.StatusForbidden, "requests of other origins are refused")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// sameOrigin reports whether a request is from the page itself or was typed by the user. A client
// that is not a browser does not send the header Sec-Fetch-Site.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "", "none":
		origin := r.Header.Get("Origin")
		return origin == "" || origin == "http://"+r.Host
	}
	// a link of another site may open the page, which then has no token
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet
}

// allowsHost reports whether a request may have this Host header. No DNS server decides where an IP
// address or localhost leads.
func (a *access) allowsHost(host string) bool {
	name := hostname.Of(host)
	// a zone can be any text, and no browser sends one
	if a, err := netip.ParseAddr(name); err == nil && a.Zone() == "" || name == "localhost" {
		return true
	}
	return slices.ContainsFunc(a.names, func(allowed string) bool {
		return strings.EqualFold(allowed, name)
	})
}

// maxToken is the greatest size in bytes of the request that exchanges the token. Anybody on this
// machine can send one.
const maxToken = 4 << 10

// exchange answers the token with the key, once.
func (a *access) exchange(w http.ResponseWriter, r *http.Request) {
	var in struct{ Token string }
	r.Body = http.MaxBytesReader(w, r.Body, maxToken)
	if !reply.Decode(w, r, &in) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == "" || subtle.ConstantTimeCompare([]byte(in.Token), []byte(a.token)) != 1 {
		reply.Refuse(w, http.StatusUnauthorized,
			"the address was used already, or is not the one that stdwire web printed")
		return
	}
	a.token = ""
	reply.JSON(w, map[string]string{"key": a.key})
}

const (
	// maxBodies is the number of bytes of all bodies that are read at a time. Small ones are not
	// counted: the limit on connections covers them.
	maxBodies = 2 * reply.MaxBody
	smallBody = 64 << 10
)

// keyed passes requests that have the key to next, and refuses others before it reads their bodies.
// A large body waits until other bodies leave room for it.
func (a *access) keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(key), []byte(a.key)) != 1 {
			reply.Refuse(w, http.StatusUnauthorized, "open the address that stdwire web printed")
			return
		}
		size := r.ContentLength
		if size < 0 || size > reply.MaxBody { // what reads more does not keep it
			size = reply.MaxBody
		}
		if size > smallBody {
			if a.bodies.Wait(r.Context(), "", size) != nil {
				return // the page has disconnected
			}
			defer a.bodies.Give("", size)
			_ = httpdeadline.New(w, r) // the body is read from now on
		}
		next.ServeHTTP(w, r)
	})
}
