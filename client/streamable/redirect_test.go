package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// hosts returns the addresses of connections, each once.
func (p *pipeListener) hosts() (hosts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range p.dialed {
		if address = strings.ToLower(address); !slices.Contains(hosts, address) {
			hosts = append(hosts, address)
		}
	}
	return hosts
}

// Redirects are followed within one origin if the method stays the same. Other servers receive
// nothing.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		status   int
		location string
		err      string
	}{
		{307, "/moved", ""},
		{308, "/moved", ""},
		{307, "http://PIPE:80/moved?key=secret", ""},
		{308, "//pipe/moved", ""},
		{301, "/moved", "redirected to http://pipe/moved with GET instead of POST: not followed"},
		{302, "/moved", "with GET instead of POST"},
		{303, "/moved", "with GET instead of POST"},
		{307, "http://evil/moved?key=secret",
			"redirected to another server, http://evil/moved: not followed: if that is intended, use its URL"},
		{308, "http://u:secret@pipe:81/moved",
			"redirected to another server, http://pipe:81/moved"},
		{307, "http://evil/a%2Fb?key=secret", "redirected to another server, http://evil/a%2Fb: not"},
		{307, "https://pipe/moved", "redirected to another server, https://pipe/moved"},
		{307, "http://pipe.evil/moved", "another server"},
		{302, "http://evil/moved", "another server"},
		{307, "/mcp", "redirected too many times"},
		{307, "ftp://pipe/", "another server"},
		{304, "", "304 Not Modified"},
		{300, "", "300 Multiple Choices"},
	} {
		t.Run(fmt.Sprint(tt.status, tt.location), func(t *testing.T) {
			for _, era := range []func(func(http.ResponseWriter, *recordedRequest)) func(
				http.ResponseWriter, *recordedRequest){modern, withoutHandshake} {
				inBubble(t, era(func(w http.ResponseWriter, r *recordedRequest) {
					if r.URL.Path == "/moved" {
						answerCall(w, r)
						return
					}
					w.Header().Set("Location", tt.location)
					w.WriteHeader(tt.status)
				}), func(t *testing.T, s *testServer) {
					s.o.Header = http.Header{"Authorization": {"Bearer secret"}}
					c := s.connect(t, client.Options{})
					answer, err := call(t, c)
					assert.DeepEqual(t, s.pipes.hosts(), []string{"pipe:80"})
					if tt.err != "" {
						assert.ErrorContains(t, err, tt.err)
						assert.Assert(t, !contains(err, "secret"), "%v", err)
						return
					}
					assert.NilError(t, err)
					assert.Equal(t, answer, "mild")
					r := s.last(t, "tools/call")
					assert.Equal(t, r.Header.Get("Authorization"), "Bearer secret")
					assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"), string(c.Revision()))
				})
			}
		})
	}
}

// The user of the URL is kept after a redirect.
func TestRedirectsKeepTheUser(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		if r.URL.Path == "/moved" {
			answerCall(w, r)
			return
		}
		http.Redirect(w, r.Request, "http://evil:secret@pipe/moved", http.StatusPermanentRedirect)
	}), func(t *testing.T, s *testServer) {
		s.url = "http://me:pass@pipe/mcp"
		check(t, s.connect(t, client.Options{}))
		user, password, _ := s.last(t, "tools/call").BasicAuth()
		assert.Equal(t, user+":"+password, "me:pass")
	})
}

// The application's CheckRedirect runs after the transport's.
func TestRedirectsOfTheApplication(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		http.Redirect(w, r.Request, "/moved", 307)
	}), func(t *testing.T, s *testServer) {
		no := errors.New("not today")
		s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return no }
		_, err := call(t, s.connect(t, client.Options{}))
		assert.Assert(t, errors.Is(err, no), "%v", err)
		s.http.CheckRedirect = nil
	})
}

// Neither errors nor the log contain secrets.
func TestSecretsAreNotInErrors(t *testing.T) {
	for _, answer := range []func(http.ResponseWriter, *recordedRequest){
		respondWith(400, "text/plain", "no"), respondWith(401, "", ""),
		respondWith(500, "text/html", "<p>"), respondWith(200, "text/html", "hi"),
		respondWith(202, "", ""), respondWith(200, "application/json", "{"),
		func(http.ResponseWriter, *recordedRequest) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, r *recordedRequest) { events(w, r) },
		func(w http.ResponseWriter, r *recordedRequest) { events(w, r).raw("id: 1\ndata:\n\n") },
		func(w http.ResponseWriter, r *recordedRequest) {
			http.Redirect(w, r.Request, "http://evil/?key=secret", 307)
		},
		func(w http.ResponseWriter,
			r *recordedRequest) {
			http.Redirect(w, r.Request, "/mcp?key=secret", 303)
		},
		func(w http.ResponseWriter,
			r *recordedRequest) {
			http.Redirect(w, r.Request, "/mcp?key=secret", 307)
		},
		refusing(400, -32000), blockRequest,
	} {
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			switch r.message.Method {
			case "initialize":
				w.Header().Set("Mcp-Session-Id", "session-secret")
				answerJSON(w, r, initialized)
			case "notifications/initialized", "tools/call", "notifications/cancelled":
				answer(w, r)
			default:
				legacy(nil, nil)(w, r)
			}
		}, func(t *testing.T, s *testServer) {
			s.url = "http://user-secret:password-secret@pipe/mcp?key=secret#secret"
			s.o.Header = http.Header{"Authorization": {"Bearer secret"}, "X-Key": {"secret"}}
			c := s.connect(t, client.Options{Era: mcp.Legacy, CallTimeout: 40e9})
			_, err := call(t, c)
			assert.Assert(t, err != nil)
			assert.NilError(t, c.Close())
			told := fmt.Sprint(err, s.logged())
			assert.Assert(t, !strings.Contains(told, "secret"), told)
		})
	}
}

// The error for an invalid header does not quote it.
func TestHeadersThatCannotBeSent(t *testing.T) {
	inBubble(t, modern(answerCall), func(t *testing.T, s *testServer) {
		s.o.Header = http.Header{"X-Key": {"secret\n"}}
		_, err := s.tryConnect(t, client.Options{})
		assert.ErrorContains(t, err, `invalid header field value for "X-Key"`)
		assert.Assert(t, !contains(err, "secret"))
		assert.Equal(t, len(s.lines()), 0)
	})
}

// The program of TestProxy: it calls a server through the proxy of its environment.
func TestMain(m *testing.M) {
	if os.Getenv("STREAMABLE_TEST_PROXY") == "" {
		os.Exit(m.Run())
	}
	o := client.Options{Logger: slog.New(slog.DiscardHandler)}
	c, err := o.Connect(context.Background(), streamable.Dial("http://mcp.test/mcp"))
	if err == nil {
		err = c.Close()
	}
	fmt.Println(err)
}

// The default client uses the proxies of the environment, and does not reveal their URLs.
func TestProxy(t *testing.T) {
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	address := strings.Replace(proxy.URL, "http://", "http://me:secret@", 1)
	cmd.Env = append(os.Environ(), "STREAMABLE_TEST_PROXY=1", "HTTP_PROXY="+address, "NO_PROXY=",
		"no_proxy=")
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	assert.Equal(t, string(out),
		"server \"server\": POST http://mcp.test/mcp: 407 Proxy Authentication Required\n")
	assert.Equal(t, <-asked, "POST http://mcp.test/mcp Basic bWU6c2VjcmV0")
}
