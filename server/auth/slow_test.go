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
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(trickle{r.Context()}), Request: r}, nil
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
func TestEndlessAnswers(t *testing.T) {
	client := &http.Client{Transport: trickle{}}
	jwt := auth.JWTOptions{Issuer: issuerURL, Audience: resource, Client: client}
	keys := jwt
	keys.KeysURL = issuerURL + keysPath
	asked := auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource, ClientID: "a", ClientSecret: "b", Client: client}
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
