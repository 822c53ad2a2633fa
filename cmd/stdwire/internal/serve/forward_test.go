package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// What handlers know of a caller arrives whole at another server, and his headers only if a server
// needs them.
func TestPassCallersOn(t *testing.T) {
	passCallersOn(nil, nil)
	needs := false
	f := new(streamable.Forward)
	passCallersOn(f, func() bool { return needs })
	id := &auth.Identity{Issuer: "https://a.example", Subject: "ada", ClientID: "c",
		Groups: []string{"g"}, Scopes: []string{"read", "write"}, KeyThumbprint: "k",
		Expires: time.Unix(1e9, 0).UTC(),
		Claims:  map[string]json.RawMessage{"dept": json.RawMessage(`{"a":[1,"x"]}`)}}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer secret")
	var ctx context.Context
	credential.Inbound(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx = auth.WithIdentity(r.Context(), id)
	})).ServeHTTP(httptest.NewRecorder(), r)
	for _, needs = range []bool{false, true} {
		text, err := f.Values(ctx)
		assert.NilError(t, err)
		assert.Equal(t, strings.Contains(string(text), "secret"), needs)
		there, err := f.WithValues(t.Context(), text)
		assert.NilError(t, err)
		assert.DeepEqual(t, auth.IdentityFrom(there), id)
		assert.Equal(t, credential.InboundHeader(there).Get("Authorization") != "", needs)
	}
	text, err := f.Values(t.Context()) // of a caller without a name
	assert.NilError(t, err)
	there, err := f.WithValues(t.Context(), text)
	assert.NilError(t, err)
	assert.Assert(t, auth.IdentityFrom(there) == nil)
	_, err = f.WithValues(t.Context(), []byte("["))
	assert.Assert(t, err != nil)
}
