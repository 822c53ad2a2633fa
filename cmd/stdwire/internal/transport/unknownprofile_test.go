package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Who has not shown who they are cannot find out which profiles there are: all of /mcp/NAME answers
// them the same.
func TestUnknownProfilesAnswerAsOthersUntilAuthenticated(t *testing.T) {
	wrong := errors.New("wrong")
	for name, o := range map[string]streamable.Options{
		"a bearer token": {Principal: func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") != "Bearer good" {
				return "", wrong
			}
			return "ada", nil
		}},
		"access tokens": {Authorize: func(r *http.Request) (streamable.Caller, error) {
			switch r.Header.Get("Authorization") {
			case "Bearer good":
				return streamable.Caller{Principal: "ada"}, nil
			case "Bearer narrow":
				return streamable.Caller{Principal: "bob",
					AuthorizeMessages: func([]streamable.Message) error {
						return &streamable.Refusal{Status: 403,
							Challenge: `Bearer error="insufficient_scope"`}
					}}, nil
			}
			return streamable.Caller{},
				&streamable.Refusal{Challenge: `Bearer resource_metadata="https://a.example"`}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			newServer := func(string) *server.Server {
				return server.New(server.Info{Name: "x", Version: "1"}, nil)
			}
			e := NewEndpoints(newServer(""), newServer)
			e.SetProfiles(map[string][]string{"books": nil}, func(*server.Server, ...string) {})
			mux := http.NewServeMux()
			o.Logger = slog.New(slog.DiscardHandler)
			e.register(mux, o)
			ask := func(method, profile string, header ...string) string {
				r := httptest.NewRequest(method, "http://127.0.0.1/mcp/"+profile,
					strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				r.Header.Set("Accept", "application/json, text/event-stream")
				for i := 0; i < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, r)
				return fmt.Sprint(w.Code, w.Header(), w.Body)
			}
			for _, method := range []string{"GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD"} {
				for _, header := range [][]string{
					{}, {"Authorization", "Bearer bad"}, {"Origin", "https://evil.example"},
					{"Content-Type", "text/plain"}, {"Mcp-Protocol-Version", "2026-07-28"},
				} {
					books := ask(method, "books", header...)
					assert.Equal(t, ask(method, "none", header...), books, "%s %s", method, header)
					assert.Assert(t, strings.HasPrefix(books, "401 ") ||
						strings.HasPrefix(books, "403 "), books)
				}
				if o.Authorize != nil {
					assert.Assert(t,
						strings.HasPrefix(ask(method, "none", "Authorization", "Bearer narrow"),
							"403 "))
				}
			}
			got := ask("POST", "none", "Authorization", "Bearer good")
			assert.Assert(t, strings.HasPrefix(got, "404 "), got)
			assert.Assert(t, cmp.Contains(got, "the profile does not exist: all servers are at /mcp"))
			assert.Assert(t,
				!strings.HasPrefix(ask("POST", "books", "Authorization", "Bearer good"), "404 "))
			for _, p := range e.all() {
				p.handler.Close()
				assert.NilError(t, p.server.Close(t.Context()))
			}
		})
	}
}
