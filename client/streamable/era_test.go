package streamable_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// discover responds to server/discover with answer, and serves the legacy era otherwise.
func discover(answer func(http.ResponseWriter, *recordedRequest)) func(http.ResponseWriter,
	*recordedRequest) {
	other := legacy(answerCall, nil)
	return func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "server/discover" {
			answer(w, r)
			return
		}
		other(w, r)
	}
}

func refusing(status, code int) func(http.ResponseWriter, *recordedRequest) {
	return func(w http.ResponseWriter,
		r *recordedRequest) {
		refuse(w, status, string(r.message.ID), code, "no")
	}
}

// The first response settles the era: a revision, or an error at once.
func TestEra(t *testing.T) {
	old := mcp.Rev20251125
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter, *recordedRequest)
		want   mcp.Revision
		err    string
	}{
		{"a result", func(w http.ResponseWriter,
			r *recordedRequest) {
			answerJSON(w, r, discovered)
		}, mcp.Rev20260728, ""},
		{"a result on a stream", func(w http.ResponseWriter, r *recordedRequest) {
			events(w, r).result(discovered)
		}, mcp.Rev20260728, ""},
		{"a result that is something else", func(w http.ResponseWriter, r *recordedRequest) {
			answerJSON(w, r, "{}")
		}, old, ""},
		{"400, and an error that is not modern", refusing(400, -32000), old, ""},
		{"400, method not found", refusing(400, -32601), old, ""},
		{"400, a modern error", refusing(400, mcp.CodeHeaderMismatch), "", "no"},
		{"400, HTML", respondWith(400, "text/html", "<p>no"), old, ""},
		{"400, nothing", respondWith(400, "", ""), old, ""},
		{"404, method not found", refusing(404, -32601), old, ""},
		{"404, nothing", respondWith(404, "", ""), old, ""},
		{"405", respondWith(405, "text/plain", "Method Not Allowed"), old, ""},
		{"406", respondWith(406, "text/plain", "Not Acceptable"), old, ""},
		{"415", respondWith(415, "text/plain", "Unsupported"), old, ""},
		{"422", respondWith(422, "application/json", `{"detail":[]}`), old, ""},
		{"500", respondWith(500, "text/plain", "Internal Server Error"), old, ""},
		{"500, an error", refusing(500, -32603), old, ""},
		{"501", respondWith(501, "", ""), old, ""},
		{"200, HTML", respondWith(200, "text/html; charset=utf-8", "<html>"), old, ""},
		{"200, nothing", respondWith(200, "", ""), old, ""},
		{"200, no JSON", respondWith(200, "application/json", "{"), old, ""},
		{"202, nothing", respondWith(202, "", ""), old, ""},
		{"204, nothing", respondWith(204, "", ""), old, ""},
		{"an empty stream", func(w http.ResponseWriter, r *recordedRequest) { events(w, r) }, "",
			"the connection ended before the response: unexpected EOF"},
		{"401", respondWith(401, "text/plain", "who are you?"), "",
			`POST http://pipe/mcp: 401 Unauthorized: "who are you?"`},
		{"401, an error", refusing(401, -32000), "", "401 Unauthorized"},
		{"403, an error", refusing(403, -32000), "", "403 Forbidden"},
		{"407", respondWith(407, "", ""), "", "407 Proxy Authentication Required"},
		{"429", func(w http.ResponseWriter, _ *recordedRequest) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
		}, "", "429 Too Many Requests (Retry-After: 7)"},
		{"502, HTML", respondWith(502, "text/html", "<h1>Bad Gateway"), "",
			"POST http://pipe/mcp: 502 Bad Gateway"},
		{"503", respondWith(503, "text/plain", "later"), "", `503 Service Unavailable: "later"`},
		{"503, an error", refusing(503, -32000), "", "503 Service Unavailable"},
		{"504", respondWith(504, "", ""), "", "504 Gateway Timeout"},
		{"the connection ends", func(http.ResponseWriter, *recordedRequest) {
			panic(http.ErrAbortHandler)
		}, "", "POST http://pipe/mcp: the connection ended before the response: unexpected EOF"},
		{"another server", func(w http.ResponseWriter, r *recordedRequest) {
			http.Redirect(w, r.Request, "http://evil/", 307)
		}, "", "redirected to another server, http://evil/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, discover(tt.answer), func(t *testing.T, s *testServer) {
				c, err := s.tryConnect(t, client.Options{})
				if tt.err != "" {
					assert.ErrorContains(t, err, tt.err)
					var start *client.StartError
					assert.Assert(t, errors.As(err, &start))
					assert.Equal(t, s.count("POST initialize"), 0)
					return
				}
				assert.NilError(t, err)
				assert.Equal(t, c.Revision(), tt.want)
				assert.NilError(t, c.Close())
			})
		})
	}
}

// After a modern error, the client tries again in a revision that the server names.
func TestEraSupported(t *testing.T) {
	for supported, want := range map[string]string{
		`["2099-01-01","2026-07-28"]`: "the server refuses revision 2026-07-28 and offers 2026-07-28",
		`["2025-06-18","2025-11-25"]`: "",
		`["2099-01-01"]`:              `the server speaks ["2099-01-01"]`,
	} {
		inBubble(t, discover(func(w http.ResponseWriter, r *recordedRequest) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":%s,"requested":"x"}}}`,
				r.message.ID, supported)
		}), func(t *testing.T, s *testServer) {
			c, err := s.tryConnect(t, client.Options{})
			if want != "" {
				assert.ErrorContains(t, err, want)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, c.Revision(), mcp.Rev20251125)
			assert.NilError(t, c.Close())
		})
	}
}

// Both requests of the handshake may be in flight, even with one slot for calls. The one whose
// response is no longer needed is cancelled.
func TestEraOfSilentServer(t *testing.T) {
	for _, answer := range []string{"", "{}", discovered} {
		silent := func(w http.ResponseWriter, r *recordedRequest) {
			if answer == "" {
				blockRequest(w, r)
			} else if wait(r, 6*time.Second) {
				answerJSON(w, r, answer)
			}
		}
		other := discover(silent)
		inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
			if r.message.Method != "initialize" || wait(r, 2*time.Second) {
				other(w, r)
			}
		}, func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 1
			began := time.Now()
			c := s.connect(t, client.Options{})
			synctest.Wait()
			if answer == discovered {
				assert.Equal(t, c.Era(), mcp.Modern)
				assert.Equal(t, time.Since(began), 6*time.Second)
			} else {
				assert.Equal(t, c.Era(), mcp.Legacy)
				assert.Equal(t, time.Since(began), 7*time.Second)
			}
			if answer != "{}" { // if both are answered
				assert.Equal(t, s.pipes.open.Load(), int32(1))
			}
			if c.Era() == mcp.Legacy {
				check(t, c)
			}
		})
	}
}

func TestEraOptions(t *testing.T) {
	for _, tt := range []struct {
		o      client.Options
		server func(http.ResponseWriter, *recordedRequest)
		want   []string
		err    string
	}{
		{client.Options{Era: mcp.Legacy}, legacy(answerCall, nil),
			[]string{"POST initialize",
				"POST notifications/initialized session-id=s1 protocol-version=2025-11-25"}, ""},
		{client.Options{Revision: mcp.Rev20250618}, legacy(answerCall, nil),
			[]string{"POST initialize",
				"POST notifications/initialized session-id=s1 protocol-version=2025-11-25"}, ""},
		{client.Options{Era: mcp.Modern}, legacy(answerCall, nil),
			[]string{"POST server/discover protocol-version=2026-07-28"},
			"does not speak the modern era: "},
		{client.Options{Era: mcp.Modern}, discover(respondWith(404, "", "")),
			[]string{"POST server/discover protocol-version=2026-07-28"}, "404 Not Found"},
		{client.Options{Era: mcp.Modern}, modern(answerCall),
			[]string{"POST server/discover protocol-version=2026-07-28"}, ""},
		{client.Options{Revision: mcp.Rev20260728}, modern(answerCall),
			[]string{"POST server/discover protocol-version=2026-07-28"}, ""},
	} {
		inBubble(t, tt.server, func(t *testing.T, s *testServer) {
			c, err := s.tryConnect(t, tt.o)
			assert.DeepEqual(t, s.lines()[:len(tt.want)], tt.want)
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				return
			}
			assert.NilError(t, err)
			assert.NilError(t, c.Close())
		})
	}
	inBubble(t, legacy(answerCall, nil), func(t *testing.T, s *testServer) {
		s.connect(t, client.Options{Revision: mcp.Rev20250618})
		assert.Assert(t,
			strings.HasPrefix(string(s.last(t, "initialize").message.Params),
				`{"protocolVersion":"2025-06-18",`))
	})
}

// An unreachable server, or a URL without one, is an error at once that names the cause.
func TestEraUnreachable(t *testing.T) {
	closed, err := freeport.Address()
	assert.NilError(t, err)
	_, err = net.Dial("tcp", closed)
	refused, ok := errors.AsType[syscall.Errno](err)
	assert.Assert(t, ok, "%v", err)
	for _, tt := range []struct{ url, want string }{
		{"http://" + closed + "/mcp?key=secret", refused.Error()},
		{"https://" + closed + "/mcp?key=secret", refused.Error()},
		{"ftp://u:secret@pipe/x?key=secret", "the URL ftp://pipe/x is not an http: or https: URL"},
		{"http://u:secret@%zz/", "the URL is invalid"},
		{"pipe/mcp", "is not an http: or https: URL"},
		{"http:///mcp", "is not an http: or https: URL"},
	} {
		o := streamable.Options{HTTP: &http.Client{Transport: &http.Transport{}}}
		_, err := client.Connect(t.Context(), o.Dial(tt.url))
		assert.ErrorContains(t, err, tt.want)
		assert.Assert(t, !contains(err, "secret"), "%v", err)
		assert.Assert(t, !errors.Is(err, rpc.ErrProtocol))
	}
	both := streamable.Options{HTTP: new(http.Client), TLS: new(tls.Config)}
	_, err = client.Connect(t.Context(), both.Dial("https://pipe/mcp"))
	assert.ErrorContains(t, err, "Options.HTTP and Options.TLS exclude each other")
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	_, err = client.Connect(t.Context(), streamable.Dial(secure.URL))
	var unknown x509.UnknownAuthorityError
	assert.Assert(t, errors.As(err, &unknown), "%v", err)
	inBubble(t, modern(answerCall), func(t *testing.T, s *testServer) {
		s.url = "https://pipe/mcp?key=secret"
		_, err := s.tryConnect(t, client.Options{})
		var header tls.RecordHeaderError
		assert.Assert(t, errors.As(err, &header) ||
			contains(err, "server gave HTTP response to HTTPS client"), "%v", err)
		assert.Equal(t, len(s.lines()), 0)
	})
}

// StartTimeout limits the whole handshake, and so does its context.
func TestEraTimeout(t *testing.T) {
	inBubble(t, blockRequest, func(t *testing.T, s *testServer) {
		began := time.Now()
		_, err := s.tryConnect(t, client.Options{StartTimeout: 20 * time.Second})
		var timeout *client.TimeoutError
		assert.Assert(t, errors.As(err, &timeout), "%v", err)
		assert.Equal(t, timeout.Waiting, "server/discover and initialize")
		assert.Equal(t, time.Since(began), 20*time.Second)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = client.Connect(ctx, streamable.Options{HTTP: s.http}.Dial(s.url))
		assert.Assert(t, errors.Is(err, context.Canceled), "%v", err)
	})
}

// Defect G16 of other implementations: any failure of the probe led to initialize, even a network
// error or a cancellation.
func TestOnlyAResponseChangesTheEra(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *recordedRequest){
		"401": respondWith(401, "", ""), "403": refusing(403, -32001),
		"429": respondWith(429, "", ""), "busy": refusing(429, -31999),
		"502": respondWith(502, "", ""), "503": refusing(503, -32000),
		"gone": func(http.ResponseWriter, *recordedRequest) { panic(http.ErrAbortHandler) },
	} {
		inBubble(t, discover(answer), func(t *testing.T, s *testServer) {
			_, err := s.tryConnect(t, client.Options{})
			assert.Assert(t, err != nil, name)
			assert.Equal(t, s.count("POST initialize"), 0, name)
		})
	}
}
