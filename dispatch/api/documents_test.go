package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

func (s *surface) get(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestDocumentsAreCached(t *testing.T) {
	for _, path := range []string{"/v1/manifest", "/v1/openapi.json"} {
		c := notes(t)
		s := newSurface(c, api.Options{})
		first := s.get(request(t, "GET", path, ""))
		assert.Equal(t, first.Code, 200)
		tag := first.Header().Get("ETag")
		assert.Equal(t, len(tag), 66, tag)
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Content-Length": fmt.Sprint(first.Body.Len()),
			"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
		} {
			assert.Equal(t, first.Header().Get(name), want, name)
		}
		assert.Assert(t, first.Header().Get("X-Request-Id") != "")

		head := s.get(request(t, "HEAD", path, ""))
		assert.Equal(t, head.Code, 200)
		assert.Equal(t, head.Body.Len(), 0)
		assert.Equal(t, head.Header().Get("Content-Length"), fmt.Sprint(first.Body.Len()))
		assert.Equal(t, head.Header().Get("ETag"), tag)

		for match, status := range map[string]int{tag: 304, "W/" + tag: 304, `"other", ` + tag: 304,
			"*": 304, `"other"`: 200, tag[:65]: 200} {
			again := s.get(request(t, "GET", path, "", "If-None-Match: "+match))
			assert.Equal(t, again.Code, status, match)
			assert.Equal(t, again.Header().Get("ETag"), tag)
			assert.Equal(t, again.Body.Len() == 0, status == 304)
		}
		for _, part := range []string{"bytes=0-1", "bytes=9-8", "nonsense"} { // there are no parts
			whole := s.get(request(t, "GET", path, "", "Range: "+part))
			assert.Equal(t, whole.Code, 200, part)
			assert.Equal(t, whole.Body.String(), first.Body.String())
		}

		// Made by another handler, it is the same to the byte; and when the catalog changes, it
		// changes.
		assert.Equal(t, newSurface(notes(t),
			api.Options{}).get(request(t, "GET", path, "")).Body.String(), first.Body.String())
		dispatch.Add(c, dispatch.Spec{Name: "note.new", Summary: "New.", Type: dispatch.Read},
			echo[struct{}])
		changed := s.get(request(t, "GET", path, "", "If-None-Match: "+tag))
		assert.Equal(t, changed.Code, 200)
		assert.Assert(t, changed.Header().Get("ETag") != tag)
		assert.Equal(t, c.Remove("note.new"), 1)
		assert.Equal(t, s.get(request(t, "GET", path, "", "If-None-Match: "+tag)).Code, 304)
	}
}

func TestManifest(t *testing.T) {
	c := notes(t)
	w := newSurface(c, api.Options{}).get(request(t, "GET", "/v1/manifest", ""))
	assert.Equal(t, w.Body.String(), string(c.Manifest()))
}

// An empty catalog looks the same before and after a change of its codes.
func TestDocumentsOfAnEmptyCatalog(t *testing.T) {
	c := dispatch.NewCatalog()
	s := newSurface(c, api.Options{})
	codes := func() int {
		var m struct{ Codes []json.RawMessage }
		assert.NilError(t,
			json.Unmarshal(s.get(request(t, "GET", "/v1/manifest", "")).Body.Bytes(), &m))
		return len(m.Codes)
	}
	before := codes()
	assert.NilError(t,
		c.Declare(dispatch.CodeInfo{Code: "mine", HTTPStatus: 418, ExitCode: 5, Summary: "Mine."}))
	assert.Equal(t, codes(), before+1)
}

// Below a prefix, with the prefix taken away, everything works as at the root.
func TestStripPrefix(t *testing.T) {
	c := notes(t)
	mux := http.NewServeMux()
	mux.Handle("/api/",
		http.StripPrefix("/api", api.Options{}.New(dispatch.Options{}.New(c))))
	s := &surface{Handler: mux, catalog: c}
	assert.Equal(t, s.ask(t, "POST", "/api/v1/old", "{}").Code, 200)
	assert.Equal(t, s.get(request(t, "GET", "/api/v1/manifest", "")).Code, 200)
	assert.Equal(t, s.ask(t, "POST", "/api/nope", "{}").Code, 404)
}

// A call that is under way when its operation is removed goes on, and the document no longer has
// it.
func TestRemovedWhileRunning(t *testing.T) {
	c := dispatch.NewCatalog()
	s := newSurface(c, api.Options{})
	dispatch.Add(c, dispatch.Spec{Name: "gone.soon", Summary: "Removes itself.",
		Type: dispatch.Write}, func(context.Context, struct{}) (struct{}, error) {
		c.Remove("gone.soon")
		return struct{}{}, nil
	})
	assert.Equal(t, s.ask(t, "POST", "/v1/gone", `{"action":"soon"}`).Code, 200)
	assert.Equal(t, s.ask(t, "POST", "/v1/gone", `{"action":"soon"}`).Code, 404)
	assert.Equal(t, len(s.openAPI(t)["paths"]) > 0, true)
}
