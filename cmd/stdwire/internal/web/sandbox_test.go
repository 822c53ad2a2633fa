package web

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The sandbox serves a frame to the page alone, with the policy of its app, and nothing else.
func TestSandbox(t *testing.T) {
	v := visit(t)
	s := v.site.frames.sandbox
	assert.NilError(t, s.listen(fakeAddr("127.0.0.1:4000")))
	defer s.listener.Close()
	id := s.add("default-src 'none'; script-src 'unsafe-inline'")
	handler := s.handler(v.access)
	send := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		return request(handler, method, path, "", headers...)
	}
	for _, tt := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/" + id, nil, 200},
		{"GET", "/" + id, []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe"}, 200},
		{"GET", "/" + id, []string{"Host: localhost:4000"}, 200},
		{"GET", "/" + id, []string{"Host: inspector.example:4000"}, 200},
		{"GET", "/" + id, []string{"Sec-Fetch-Site: none", "Sec-Fetch-Dest: document"}, 403},
		{"GET", "/" + id, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: iframe"}, 403},
		{"GET", "/" + id, []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: iframe"}, 403},
		{"GET", "/" + id, []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: script"}, 403},
		{"GET", "/" + id, []string{"Origin: http://127.0.0.1:4000"}, 403},
		{"GET", "/" + id, []string{"Host: attacker.example"}, 403}, // DNS rebinding
		{"GET", "/" + id, []string{"Host: localhost.attacker.example"}, 403},
		{"POST", "/" + id, nil, 405},
		{"GET", "/", nil, 404},
		{"GET", "/" + id[:len(id)-1], nil, 404},
		{"GET", "/" + id + "/x", nil, 404},
		{"GET", "/" + strings.ToLower(id), nil, 404},
		{"GET", "/index.html", nil, 404},
		{"GET", "/api/servers", []string{v.key()}, 404},
		{"POST", "/session", nil, 405},
	} {
		w := send(tt.method, tt.path, tt.headers...)
		assert.Equal(t, w.Code, tt.want, "%s %s %q: %s", tt.method, tt.path, tt.headers, w.Body)
		policy := w.Header().Get("Content-Security-Policy")
		if tt.want != 200 {
			assert.Equal(t, policy, "default-src 'none'; frame-ancestors 'none'; sandbox")
		}
		assert.Assert(t, !strings.Contains(w.Body.String(), v.access.key))
	}
	w := send("GET", "/"+id)
	assert.Equal(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'unsafe-inline'; "+
		"form-action 'none'; frame-ancestors http://127.0.0.1:4000")
	s.remove(id)
	assert.Equal(t, send("GET", "/"+id).Code, 404)
}

// A preview is HTML that can do nothing, and only the latest ones are kept.
func TestPreview(t *testing.T) {
	v := visit(t)
	s := v.site.frames.sandbox
	assert.NilError(t, s.listen(fakeAddr("127.0.0.1:4000")))
	defer s.listener.Close()
	handler := s.handler(v.access)
	status, text := v.send("POST", "/api/previews", `{"html":"<script>1</script>"}`, v.key())
	assert.Equal(t, status, 200)
	var first struct{ Address string }
	assert.NilError(t, json.Unmarshal([]byte(text), &first))
	_, path, _ := strings.Cut(first.Address, s.listener.Addr().String())
	w := request(handler, "GET", path, "")
	assert.Equal(t, w.Body.String(), "<script>1</script>")
	policy := w.Header().Get("Content-Security-Policy")
	assert.Assert(t, strings.HasPrefix(policy, "default-src 'none'; style-src 'unsafe-inline'; "), policy)
	assert.Assert(t, strings.HasSuffix(policy, "; sandbox; frame-ancestors http://127.0.0.1:4000"), policy)
	assert.Equal(t, request(handler, "GET", path, "", "Sec-Fetch-Site: none").Code, 403)
	assert.Equal(t, request(handler, "GET", path[:len(path)-1], "").Code, 404)

	status, _ = v.send("POST", "/api/previews", `{"html":"`+strings.Repeat("x", maxPreview+1)+`"}`,
		v.key())
	assert.Equal(t, status, 400)
	for range maxPreviews {
		_, err := s.preview("x")
		assert.NilError(t, err)
	}
	assert.Equal(t, request(handler, "GET", path, "").Code, 404)
}

// The page may show frames of the sandbox, and of nothing else.
func TestPageFramesSandbox(t *testing.T) {
	v := visit(t)
	s := v.site.frames.sandbox
	assert.NilError(t, s.listen(fakeAddr("127.0.0.1:4000")))
	defer s.listener.Close()
	for _, host := range []string{"127.0.0.1:4000", "localhost:4000", "[::1]:4000", "192.0.2.1"} {
		w := request(v.handler, "GET", "/", "", "Host: "+host)
		assert.Equal(t, w.Code, 200)
		name := strings.TrimSuffix(host, ":4000")
		_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
		assert.Equal(t, w.Header().Get("Content-Security-Policy"),
			policy+"; frame-src http://"+name+":"+port)
	}
	w := request(v.handler, "GET", "/", "", "Host: [fe80::1%x; script-src *]:4000")
	assert.Assert(t, !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src *"))
	assert.Equal(t, w.Code, 403)
}

// fakeAddr is the address of a listener.
type fakeAddr string

func (fakeAddr) Network() string  { return "tcp" }
func (a fakeAddr) String() string { return string(a) }
