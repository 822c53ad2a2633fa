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
	"sync/atomic"
	"time"
)

// A callbackServer listens on this machine for the browser's redirect (RFC 8252, section 7.3) while
// an authorization is in progress.
type callbackServer struct {
	url       string
	host      string
	path      string
	server    http.Server
	done      chan struct{} // closed when Serve has returned
	responses chan url.Values

	mu    sync.Mutex
	state string // of the expected response; "" if none is expected
}

// newCallbackServer starts to listen. If redirect leaves the port open, the port of an earlier
// registration is used if it is free, because the authorization server may accept only that one.
func newCallbackServer(redirect string, old *Credentials) (*callbackServer, error) {
	u, err := url.Parse(cmp.Or(redirect, defaultRedirect))
	if err != nil {
		return nil, err
	}
	var l net.Listener
	if u.Port() == "" || u.Port() == "0" {
		if old != nil {
			before, err := url.Parse(old.Registration.RedirectURI)
			if err == nil && before.Port() != "" && before.Hostname() == u.Hostname() &&
				before.Path == u.Path {
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
	c := &callbackServer{
		url: u.String(), host: u.Host, path: cmp.Or(u.Path, "/"),
		done: make(chan struct{}), responses: make(chan url.Values, 1),
	}
	const timeout, maxConnections = 10 * time.Second, 256
	var open atomic.Int32
	c.server = http.Server{
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if open.Add(1) > maxConnections {
					_ = conn.Close()
				}
			case http.StateClosed:
				open.Add(-1)
			}
		},
		Handler: http.HandlerFunc(c.serve), MaxHeaderBytes: 32 << 10,
		ReadHeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout,
		IdleTimeout: time.Second,
		// A log line could contain the authorization code.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	c.server.SetKeepAlivesEnabled(false)
	go func() {
		defer close(c.done)
		_ = c.server.Serve(l)
	}()
	return c, nil
}

// expectState sets the state of the only response that is accepted.
func (c *callbackServer) expectState(state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
}

// wait returns the parameters of the authorization response.
func (c *callbackServer) wait(ctx context.Context) (url.Values, error) {
	select {
	case got := <-c.responses:
		return got, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close shuts the server down after the browser has received its page, or after 1 s.
func (c *callbackServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	<-c.done
}

// serve accepts one authorization response, the one with the expected state. Any website can send
// the browser to this address, so other requests neither reach the program nor end the wait.
func (c *callbackServer) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	values, err := url.ParseQuery(r.URL.RawQuery)
	status, text := http.StatusOK,
		"Login complete. You can close this page and go back to the program."
	switch {
	case !strings.EqualFold(r.Host, c.host), r.URL.Path != c.path:
		status, text = http.StatusNotFound, "Not found."
	case r.Method != http.MethodGet:
		status, text = http.StatusMethodNotAllowed,
			"This address accepts a browser's redirect only."
	case err != nil || len(values["state"]) != 1 || !c.takeState(values.Get("state")):
		status, text = http.StatusBadRequest,
			"This is not the response that the program expects. If you have just logged in, please start again there."
	default:
		c.responses <- values // never blocks: only one response is accepted
		if values.Has("error") {
			text = "Access was not granted. You can close this page and go back to the program."
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// takeState reports whether state is the expected one, and resets the expected state if so.
func (c *callbackServer) takeState(state string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" || !equalSecret(state, c.state) {
		return false
	}
	c.state = ""
	return true
}
