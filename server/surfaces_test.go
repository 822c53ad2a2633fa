package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/server"
)

func TestNilCatalogIsEmpty(t *testing.T) {
	for _, revision := range []string{"2025-11-25", newest} {
		s := quiet.New(server.Info{Name: "test", Version: "1.2"}, nil)
		k := speak(t, s, revision, `{}`)
		assert.Assert(t, strings.Contains(k.request("tools/list", "").raw, `"tools":[]`))
	}
}

// The application's log also contains the records of an operation, whatever level a client has set
// for itself.
func TestApplicationLogDoesNotDependOnTheClient(t *testing.T) {
	var kept bytes.Buffer
	log := slog.New(slog.NewTextHandler(&kept, &slog.HandlerOptions{Level: slog.LevelDebug}))
	k := speak(t, server.Options{Logger: log}.New(server.Info{Name: "test", Version: "1.2"},
		catalog()), "2025-11-25", `{}`)
	work := `{"name":"work","arguments":{}}`
	for _, level := range []string{"", "error", "info"} {
		kept.Reset()
		if level != "" {
			k.request("logging/setLevel", `{"level":"`+level+`"}`)
		}
		k.start("tools/call", work)
		if level == "info" {
			said := k.next()
			assert.Equal(t, said.Method, "notifications/message")
			assert.Assert(t, strings.Contains(said.raw, `"begun"`))
		}
		assert.Assert(t, k.next().Result != nil, level)
		text := kept.String()
		assert.Assert(t, strings.Contains(text, "msg=begun unit=7 step.n=1"), "%s: %q", level, text)
		assert.Assert(t, strings.Contains(text, "msg=detail"), "%s: %q", level, text)
	}
}

// The client's level may be lower than that of the application's log.
func TestClientHearsWhatTheApplicationDoesNot(t *testing.T) {
	var kept bytes.Buffer
	log := slog.New(slog.NewTextHandler(&kept, &slog.HandlerOptions{Level: slog.LevelError}))
	k := speak(t, server.Options{Logger: log}.New(server.Info{Name: "test", Version: "1.2"},
		catalog()), "2025-11-25", `{}`)
	k.request("logging/setLevel", `{"level":"debug"}`)
	k.start("tools/call", `{"name":"work","arguments":{}}`)
	assert.Assert(t, strings.Contains(k.next().raw, `"begun"`))
	assert.Assert(t, strings.Contains(k.next().raw, `"detail"`))
	assert.Assert(t, k.next().Result != nil)
	assert.Equal(t, kept.String(), "")
}

// The same handler gets the principal of the caller on every surface.
func TestPrincipalBehindTheHTTPAPI(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "whoami", Summary: "Who calls.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			return dispatch.PrincipalFrom(ctx), nil
		})
	d := dispatch.Options{}.New(c)
	h := api.Options{Principal: func(*http.Request) (string, error) { return "ada", nil }}.New(d)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/whoami", strings.NewReader(`{}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	assert.Assert(t, strings.Contains(w.Body.String(), `"data":"ada"`), w.Body.String())
}

// Without its own logger, the HTTP API uses the logger of the dispatcher.
func TestHTTPAPILoggerIsTheDispatchers(t *testing.T) {
	var log strings.Builder
	d := dispatch.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.
		New(dispatch.NewCatalog())
	h := api.Options{Principal: func(*http.Request) (string, error) {
		return "", errors.New("no such token")
	}}.New(d)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/x", strings.NewReader(`{}`))
	h.ServeHTTP(httptest.NewRecorder(), r)
	assert.Assert(t, strings.Contains(log.String(), "no such token"), log.String())
}
