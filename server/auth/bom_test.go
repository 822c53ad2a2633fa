package auth_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// A markedTransport returns responses with a byte order mark before their bodies.
type markedTransport struct{ http.RoundTripper }

func (m markedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := m.RoundTripper.RoundTrip(r)
	if err == nil {
		text, _ := io.ReadAll(res.Body)
		res.Body = io.NopCloser(bytes.NewReader(append([]byte("\uFEFF"), text...)))
		res.ContentLength = -1
	}
	return res, err
}

// Metadata, keys and answers about tokens may begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		client := &http.Client{Transport: markedTransport{i}}
		i.answer(askPath, func(*http.Request) *response {
			return &response{200, nil, `{"active":true,"aud":"` + resource +
				`","scope":"mcp","sub":"alice","client_id":"app"}`}
		})
		verify, err := auth.JWTOptions{Issuer: issuerURL, Audience: resource, Client: client}.New()
		assert.NilError(t, err)
		id, err := verify(t.Context(), i.token(nil))
		assert.NilError(t, err)
		assert.Equal(t, id.Subject, "alice")
		verify, err = auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource,
			ClientID: "a", ClientSecret: "s", Client: client}.New()
		assert.NilError(t, err)
		id, err = verify(t.Context(), "opaque-token")
		assert.NilError(t, err)
		assert.Equal(t, id.Subject, "alice")
	})
}
