package conformance_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// The messages of a server reach its client unchanged and are recorded once, in whatever form they
// are sent.
func TestHTTPTap(t *testing.T) {
	const priming, first, second = "id: 1-0\ndata: \n\n", "id: 1-1\ndata: {\"n\": 1}\n\n",
		": quiet\nid: 1-2\ndata: {\ndata: \"n\":2}\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(parts ...string) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			for _, part := range parts {
				_, _ = io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
		}
		switch r.URL.RawQuery {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = io.WriteString(w, "{\"json\":\n true}")
		case "stream": // in pieces
			say(priming[:3], priming[3:]+first[:9], first[9:]+second[:len(second)-1],
				second[len(second)-1:])
		case "again": // together with a new event
			say(first+second, "id: 1-3\ndata: {\"n\":3}\n\n")
		case "notice":
			w.WriteHeader(http.StatusAccepted)
		case "cut":
			say(first)
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	record := filepath.Join(t.TempDir(), "record")
	tap, err := conformance.NewHTTPTap(record, server.URL+"/mcp")
	assert.NilError(t, err)
	front := httptest.NewServer(tap)
	defer front.Close()
	do := func(method, what, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, front.URL+"/mcp?"+what,
			strings.NewReader(body))
		assert.NilError(t, err)
		r.Header.Set("Mcp-Session-Id", session)
		response, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	text := func(r *http.Response) string {
		t.Helper()
		all, err := io.ReadAll(r.Body)
		assert.NilError(t, err)
		return string(all)
	}
	assert.Equal(t, text(do("POST", "json", "", `{"id": 1}`)), "{\"json\":\n true}")
	assert.Equal(t, text(do("POST", "stream", "s", `{"id":2}`)), priming+first+second)
	assert.Equal(t, text(do("GET", "again", "s", "")), first+second+"id: 1-3\ndata: {\"n\":3}\n\n")
	assert.Equal(t, text(do("POST", "notice", "s", "{no\nJSON")), "")
	assert.Equal(t, text(do("POST", "json", "", `{"id":3}`)), "{\"json\":\n true}")

	cut := do("POST", "cut", "", `{"id":4}`)
	begin := make([]byte, len(first))
	_, err = io.ReadFull(cut.Body, begin)
	assert.NilError(t, err)
	r, err := http.Post(front.URL+"/cut", "", nil)
	assert.NilError(t, err)
	assert.NilError(t, r.Body.Close())
	assert.Equal(t, r.StatusCode, http.StatusNoContent)
	_, err = cut.Body.Read(begin)
	assert.Assert(t, err != nil && err != io.EOF, "%v", err)

	assert.NilError(t, tap.Close())
	talks, err := conformance.ReadRecords(record)
	assert.NilError(t, err)
	var got []string
	for _, lines := range talks {
		got = append(got, string(bytes.Join(lines, nil)))
	}
	assert.DeepEqual(t, got, []string{
		">{\"id\":1}\n<{\"json\":true}\n>{\"id\":2}\n<{\"n\":1}\n<{\"n\":2}\n<{\"n\":3}\n>{no JSON\n",
		">{\"id\":3}\n<{\"json\":true}\n",
		">{\"id\":4}\n<{\"n\":1}\n",
	})
}
