package auth

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A callback is the address on this machine that a browser is redirected to (RFC 8252, section 7.3), as long as an answer is waited for.
type callbackServer struct {
	url       string
	host      string
	path      string
	server    http.Server
	done      chan struct{} // closed when the server has
	responses chan url.Values

	mu    sync.Mutex
	state string // of the answer that is waited for; "" if there is none, or none any more
}

// newCallbackServer opens the address. Where the port may be any, that of an earlier registration is taken if it is free, as authorization servers may know no other.
func newCallbackServer(redirect string, old *Credentials) (*callbackServer, error) {
	u, err := url.Parse(cmp.Or(redirect, defaultRedirect))
	if err != nil {
		return nil, err
	}
	var l net.Listener
	if u.Port() == "" || u.Port() == "0" {
		if old != nil {
			if before, err := url.Parse(old.Registration.RedirectURI); err == nil && before.Port() != "" && before.Hostname() == u.Hostname() && before.Path == u.Path {
				l, _ = net.Listen("tcp", before.Host)
			}
		}
		u.Host = net.JoinHostPort(u.Hostname(), "0")
	}
	if l == nil {
		if l, err = net.Listen("tcp", u.Host); err != nil {
			return nil, err
		}
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	u.Host = net.JoinHostPort(u.Hostname(), port)
	c := &callbackServer{url: u.String(), host: u.Host, path: cmp.Or(u.Path, "/"), done: make(chan struct{}), responses: make(chan url.Values, 1)}
	const soon = 10 * time.Second
	c.server = http.Server{
		Handler: http.HandlerFunc(c.serve), ReadHeaderTimeout: soon, ReadTimeout: soon, WriteTimeout: soon, IdleTimeout: time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // which would have the code in it
	}
	c.server.SetKeepAlivesEnabled(false)
	go func() {
		defer close(c.done)
		_ = c.server.Serve(l)
	}()
	return c, nil
}

// expectState names the one answer that is taken.
func (c *callbackServer) expectState(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// wait returns the answer.
func (c *callbackServer) wait(ctx context.Context) (url.Values, error) {
	select {
	case got := <-c.responses:
		return got, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close ends the listening, when the browser has got its page.
func (c *callbackServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	<-c.done
}

// serve takes one answer, to the question that was asked. Anybody may make the browser visit this address, with whatever they like: that neither gets in nor
// ends the waiting.
func (c *callbackServer) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	values, err := url.ParseQuery(r.URL.RawQuery)
	status, text := http.StatusOK, "That is all. You can close this page and go back to the program."
	switch {
	case !strings.EqualFold(r.Host, c.host), r.URL.Path != c.path:
		status, text = http.StatusNotFound, "There is nothing here."
	case r.Method != http.MethodGet:
		status, text = http.StatusMethodNotAllowed, "This address is for a browser that is redirected to it."
	case err != nil || len(values["state"]) != 1 || !c.takeState(values.Get("state")):
		status, text = http.StatusBadRequest, "This is not the answer that the program is waiting for. If you have just logged in, please start again there."
	default:
		c.responses <- values // there is room: only one is taken
		if values.Has("error") {
			text = "That was not granted. You can close this page and go back to the program."
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// takeState says whether this is the state of the answer that is waited for, once.
func (c *callbackServer) takeState(state string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" || !equalSecret(state, c.state) {
		return false
	}
	c.state = ""
	return true
}
