package login

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/printable"
)

// Path is the path of all pages.
const Path = "/oauth/"

const (
	startPath    = Path + "start/"
	callbackPath = Path + "callback"
	// keepCookie is how long a browser remembers its user.
	keepCookie = 30 * 24 * time.Hour
	maxForm    = 4 << 10
)

// Handler returns the pages, at [Path].
func (l *Logins) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+startPath+"{link}", l.serveStart)
	mux.HandleFunc("POST "+startPath+"{link}", l.serveConsent)
	mux.HandleFunc("GET "+callbackPath, l.serveCallback)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		// There is no form-action: browsers apply it to redirects, and the form leads to the
		// authorization server.
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+
			"frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		mux.ServeHTTP(w, r)
	})
}

const unusableText = "This gateway cannot reach what it keeps logins in. Reload this page soon."

// A browser is what a cookie says of one.
type browser struct {
	id   string
	user string // a digest of the user who has logged in in it; "": none
}

func (l *Logins) cookieName() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasPrefix(l.base, "https:") {
		return "__Host-stdwire-login" // only this host can set it
	}
	return "stdwire-login"
}

// browserOf returns the browser of a request, or a new one.
func (l *Logins) browserOf(r *http.Request) (b browser, known bool) {
	if c, err := r.Cookie(l.cookieName()); err == nil {
		parts := strings.Split(c.Value, ".")
		if len(parts) == 3 && len(parts[0]) == len(rand.Text()) {
			b.id = parts[0]
			if parts[1] == l.store.seal.id { // else of another key
				b.user = parts[2]
			}
			return b, true
		}
	}
	return browser{id: rand.Text()}, false
}

func (l *Logins) setCookie(w http.ResponseWriter, b browser) {
	name := l.cookieName()
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", HttpOnly: true,
		Value: b.id + "." + l.store.seal.id + "." + b.user, MaxAge: int(keepCookie / time.Second),
		Secure: strings.HasPrefix(name, "__Host-"), SameSite: http.SameSiteLaxMode})
}

// userIn returns what a browser remembers of a user.
func (l *Logins) userIn(id, user string) string {
	return l.store.seal.digest("user", id, user)
}

// token returns what the form for a link must have in a browser, so that no other page sends it.
func (l *Logins) token(k *link, b browser) string {
	return l.store.seal.digest("form", b.id, k.Secret)
}

// open returns the link of a request and its browser, or answers with an error.
func (l *Logins) open(w http.ResponseWriter, r *http.Request) (k *link, b browser, ok bool) {
	k, err := l.find(r.Context(), r.PathValue("link"))
	if err != nil {
		page(w, http.StatusServiceUnavailable, "Try again in a moment", unusableText)
		return nil, b, false
	}
	if k == nil {
		page(w, http.StatusNotFound, "This link is not valid", "It has been used, or it has "+
			"expired after ten minutes. Use the tool again: it answers with a new link.")
		return nil, b, false
	}
	b, known := l.browserOf(r)
	switch {
	case k.Browser != "" && k.Browser != b.id:
		page(w, http.StatusForbidden, "This link is not valid here",
			"It has been opened in another browser. Go on there, or use the tool again in ten minutes.")
		return nil, b, false
	case known && b.user != "" && !equal(b.user, l.userIn(b.id, k.user)):
		page(w, http.StatusForbidden, "This link is for somebody else", "Another user of this "+
			"gateway logs in with this browser. If you got the link from somebody, do not use it: "+
			"he would get access in your name. If you use the gateway under several names, open it in a private window.")
		return nil, b, false
	}
	return k, b, true
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// serveStart asks for the consent of the user. It changes nothing, because programs that preview
// links send such requests.
func (l *Logins) serveStart(w http.ResponseWriter, r *http.Request) {
	k, b, ok := l.open(w, r)
	if !ok {
		return
	}
	s := l.server(k.Server)
	if s == nil {
		failed(w, k, errNoServer.Error())
		return
	}
	e, _, err := s.endpoint()
	if err != nil {
		failed(w, k, err.Error())
		return
	}
	l.setCookie(w, b)
	scopes := "those that the server asks for"
	configured := []string(nil)
	if e.OAuth != nil {
		configured = strings.Fields(e.OAuth.Scope)
	}
	if all := slices.Concat(configured, k.Scopes); len(all) > 0 {
		slices.Sort(all)
		scopes = strings.Join(slices.Compact(all), " ")
	}
	var rows strings.Builder
	for _, row := range [][2]string{{"User of the gateway", k.user}, {"Client", k.App},
		{"Server", k.Server + " at " + httpurl.PublicText(e.URL)}, {"Permissions", scopes}} {
		fmt.Fprintf(&rows, "<tr><th>%s</th><td>%s</td></tr>\n", row[0], escape(row[1]))
	}
	write(w, http.StatusOK, "Log in to "+k.Server, fmt.Sprintf(`<p>If you agree, the gateway
calls this server with your account there, whenever this client asks it to.</p>
<table>%s</table>
<p><strong>Close this page if you are not this user, or have not just asked for it in this
client:</strong> whoever has sent you the link would get access in your name.</p>
<form method="post"><input type="hidden" name="token" value="%s">
<button name="answer" value="yes">Agree and log in</button>
<button name="answer" value="no">Do not agree</button></form>`, rows.String(), l.token(k, b)))
}

// serveConsent sends the user on to the authorization server.
func (l *Logins) serveConsent(w http.ResponseWriter, r *http.Request) {
	k, b, ok := l.open(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || !equal(r.PostForm.Get("token"), l.token(k, b)) {
		page(w, http.StatusForbidden, "This did not come from the page",
			"Open the link again. The browser must accept cookies.")
		return
	}
	if r.PostForm.Get("answer") != "yes" {
		if err := l.decline(r.Context(), k); err != nil {
			failed(w, k, err.Error())
			return
		}
		page(w, http.StatusOK, "Nothing was permitted", "You can close this page.")
		return
	}
	to, err := l.begin(r.Context(), k, b.id)
	if err != nil {
		failed(w, k, err.Error())
		return
	}
	w.Header().Set("Location", to) // of the metadata that package auth has checked
	w.WriteHeader(http.StatusSeeOther)
}

// serveCallback gets the answer of the authorization server.
func (l *Logins) serveCallback(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	b, known := l.browserOf(r)
	if err != nil || !known {
		page(w, http.StatusForbidden, "Nobody has begun to log in here",
			"This browser has no cookie of this gateway. Open the link in the browser in which you want to log in.")
		return
	}
	k, why, err := l.resume(r.Context(), query, r.URL.RawQuery, b.id)
	switch {
	case errors.Is(err, errUnusable):
		page(w, http.StatusServiceUnavailable, "Try again in a moment", unusableText)
	case errors.Is(err, errUnknown), errors.Is(err, errTaken):
		page(w, http.StatusForbidden, "This login is not valid", "As far as this browser is "+
			"concerned, "+err.Error()+". Use the tool again: it answers with a new link.")
	case err != nil:
		failed(w, k, err.Error())
	case why != "":
		failed(w, k, why)
	default:
		b.user = l.userIn(b.id, k.user)
		l.setCookie(w, b)
		page(w, http.StatusOK, "You have logged in to "+k.Server,
			"Go back to "+k.App+". You can close this page.")
	}
}

// failed says why a login has failed. The errors of package auth have no secrets.
func failed(w http.ResponseWriter, k *link, why string) {
	page(w, http.StatusBadGateway, "The login to "+k.Server+" has failed", why+
		". Use the tool again to get a new link; whoever runs the gateway finds more in its log.")
}

func escape(text string) string { return html.EscapeString(printable.Line(text)) }

// page answers with a heading and a text.
func page(w http.ResponseWriter, status int, heading, text string) {
	write(w, status, heading, "<p>"+escape(cmp.Or(text, heading))+"</p>")
}

// write answers with a page. body is HTML.
func write(w http.ResponseWriter, status int, heading, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%[1]s</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
th{text-align:left;padding-right:1rem;vertical-align:top}button{font:inherit}</style>
<h1>%[1]s</h1>
%[2]s
</html>
`, escape(heading), body)
}
