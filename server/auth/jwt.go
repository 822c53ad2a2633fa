package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

// JWTOptions are the settings of a [Verifier] for tokens that are JWTs signed by their issuer (RFC
// 9068).
type JWTOptions struct {
	Issuer   string // the tokens' iss: an https URL, or http on a loopback address
	Audience string // the tokens' aud: usually [Options].Resource

	// KeysURL is the URL of the issuer's JWK set; "": from the issuer's metadata (RFC 8414, or
	// OpenID Connect Discovery).
	KeysURL string
	// Algorithms are the accepted signature algorithms; nil: ES256, EdDSA, PS256 and RS256, which
	// are all that are supported.
	Algorithms []string
	// Skew is how far clocks may differ; 0: 30 s. It must not be negative.
	Skew time.Duration
	// Client fetches metadata and keys, without following redirects; nil: like
	// [http.DefaultClient].
	Client *http.Client
}

// New returns the verifier. It fetches the keys with the first token, again after ten minutes, and
// when a token names an unknown key, but not within 30 seconds after a fetch that did not bring the
// wanted key. If fetching fails, the old keys are used for up to four hours.
//
// A token must have the type of a JWT or access token or none, the issuer, the audience, a subject,
// and an exp in the future. nbf and iat are checked if present.
func (o JWTOptions) New() (Verifier, error) {
	check, err := newClaimsVerifier(o.Issuer, o.Audience, o.Skew)
	if err != nil {
		return nil, err
	}
	v := &jwtVerifier{claimsVerifier: check, algorithms: algorithms}
	if o.Algorithms != nil {
		v.algorithms = nil
	}
	for _, name := range o.Algorithms {
		if !slices.Contains(algorithms, jose.Algorithm(name)) {
			return nil, fmt.Errorf("auth: the algorithm %q is not one of %v", name, algorithms)
		}
		v.algorithms = append(v.algorithms, jose.Algorithm(name))
	}
	caller := newIssuerClient(o.Client)
	if o.KeysURL != "" {
		if _, err := checkURL("KeysURL", o.KeysURL); err != nil {
			return nil, err
		}
	}
	v.keys.fetch = func(ctx context.Context) (*jose.KeySet,
		error) {
		return caller.keys(ctx, o.Issuer, o.KeysURL)
	}
	return v.verify, nil
}

// keys fetches the keys of an issuer. If address is "", it is discovered.
func (c *issuerClient) keys(ctx context.Context, issuer, address string) (*jose.KeySet, error) {
	if address == "" {
		m, err := c.discover(ctx, issuer)
		if err != nil {
			return nil, err
		}
		if err := checkEndpoint("jwks_uri of the issuer", string(m.JWKSURI), issuer); err != nil {
			return nil, err
		}
		address = string(m.JWKSURI)
	}
	text, err := c.get(ctx, address, jose.MaxKeySet)
	if err != nil {
		return nil, err
	}
	set, err := jose.ParseKeySet(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return set, nil
}

type jwtVerifier struct {
	claimsVerifier
	algorithms []jose.Algorithm
	keys       keyCache
}

// tokenTypes are the accepted values of typ. An ID token cannot be told apart by it, but DPoP
// proofs, logout tokens and event tokens are refused (RFC 9068, section 4, and RFC 8725, section
// 3.11).
var tokenTypes = [...]string{"", "jwt", "at+jwt", "application/at+jwt"}

func (v *jwtVerifier) verify(ctx context.Context, text string) (*Identity, error) {
	token, err := jose.Parse(text)
	if err != nil {
		return nil, &TokenError{"the token is not a JWT", err}
	}
	if !slices.Contains(tokenTypes[:], strings.ToLower(token.Header.Type)) {
		return nil, &TokenError{Reason: "the token is not an access token"}
	}
	if !slices.Contains(v.algorithms, token.Header.Algorithm) { // before keys are fetched
		return nil, &TokenError{Reason: "the token is signed with an unsupported algorithm"}
	}
	keys, err := v.keys.candidates(ctx, token.Header.KeyID, token.Header.Algorithm)
	switch {
	case errors.Is(err, errNoKey):
		return nil, &TokenError{"the token is signed with an unknown key", err}
	case err != nil:
		return nil, err
	}
	var payload []byte
	for _, key := range keys {
		if payload, err = token.Verify(key, v.algorithms...); err == nil {
			break
		}
	}
	if err != nil {
		return nil, &TokenError{"the token's signature is invalid", err}
	}
	claims, err := jose.ParseClaims(payload)
	if err != nil {
		return nil, &TokenError{"the token's claims are invalid", err}
	}
	if claims.Expires.IsZero() {
		return nil, &TokenError{Reason: "the token has no exp"}
	}
	return v.identity(claims, time.Now())
}
