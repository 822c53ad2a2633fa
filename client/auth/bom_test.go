package auth_test

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
)

// A markedWriter writes a byte order mark before a body.
type markedWriter struct {
	http.ResponseWriter
	begun bool
}

func (m *markedWriter) Write(text []byte) (int, error) {
	if !m.begun && m.Header().Get("Content-Type") == "application/json" {
		m.begun = true
		if _, err := m.ResponseWriter.Write([]byte("\uFEFF")); err != nil {
			return 0, err
		}
	}
	return m.ResponseWriter.Write(text)
}

// Metadata, registrations and tokens may begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	w := newWorld(t)
	for name, host := range w.hosts {
		w.hosts[name] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			host.ServeHTTP(&markedWriter{ResponseWriter: rw}, r)
		})
	}
	w.client(w.options()).ok()
	assert.Equal(t, len(w.requestsTo("/token")), 1)
	assert.Equal(t, len(w.requestsTo("/register")), 1)
}
