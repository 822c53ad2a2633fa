package auth_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// A trickle answers at once, and then with a byte a second for ever.
type trickle struct{ ctx context.Context }

// RoundTrip implements [http.RoundTripper].
func (trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{},
		Body: io.NopCloser(trickle{r.Context()}), Request: r}, nil
}

// Read implements [io.Reader].
func (s trickle) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	}
}

// An answer that does not end is given up, with either verifier, and whatever is asked for.
func TestEndlessResponses(t *testing.T) {
	client := &http.Client{Transport: trickle{}}
	jwt := auth.JWTOptions{Issuer: issuerURL, Audience: resource, Client: client}
	keys := jwt
	keys.KeysURL = issuerURL + keysPath
	asked := auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource, ClientID: "a",
		ClientSecret: "b", Client: client}
	known := asked
	known.Endpoint = issuerURL + askPath
	for name, tc := range map[string]struct {
		make func() (auth.Verifier, error)
		took time.Duration
	}{
		"metadata, for keys":        {jwt.New, 10 * time.Second}, // at each of two places
		"keys":                      {keys.New, 5 * time.Second},
		"metadata, for an endpoint": {asked.New, 10 * time.Second},
		"answer about a token":      {known.New, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			verify, err := tc.make()
			assert.NilError(t, err)
			token := newIssuer(t).token(nil)
			begun := time.Now()
			_, err = verify(t.Context(), token)
			assert.ErrorIs(t, err, auth.ErrUnavailable, name)
			assert.Equal(t, time.Since(begun), tc.took, name)
		})
	}
}

// Who waits for keys gives up when the client does. The one that fetches them goes on, as it is not
// for that client alone.
func TestClientsThatDisconnectDuringAFetch(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		release := make(chan struct{})
		w.issuer.answer(keysPath, func(r *http.Request) *response {
			select {
			case <-release:
				return &response{200, nil, `{"keys":[` + jwk(t, w.issuer.signer, "k1") + `]}`}
			case <-r.Context().Done():
				return nil
			}
		})
		token, body := bearer(w.issuer.token(nil)),
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta+`}}`
		ended := make(chan string, 2)
		leaves := func(name string) context.CancelFunc {
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				w.doIn(ctx, "POST", resource, body,
					"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n"+token)
				ended <- name
			}()
			synctest.Wait()
			return leave
		}
		first, second := leaves("fetches"), leaves("waits")
		second()
		assert.Equal(t, <-ended, "waits")
		first()
		synctest.Wait()
		assert.Equal(t, len(ended), 0)
		close(release)
		assert.Equal(t, <-ended, "fetches")
		w.wants(w.call("read", token), 200, "")
		assert.Equal(t, w.issuer.count(keysPath), 1)
	})
}
