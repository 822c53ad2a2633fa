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

// JWTOptions are the settings of a [Verifier] of tokens that are JWTs, signed by their issuer (RFC 9068).
type JWTOptions struct {
	Issuer   string // as the tokens have it, and of https, or of http on this machine
	Audience string // for whom the tokens must be: the [Options].Resource, unless the authorization server has another name for it

	// KeysURL is where the issuer's keys are; "": its metadata says so, which is found at the issuer (RFC 8414, or OpenID Connect Discovery).
	KeysURL string
	// Algorithms are those that tokens may be signed with; nil: ES256, EdDSA, PS256 and RS256, which are all there are.
	Algorithms []string
	// Skew is how far clocks may differ; 0: 30 s. It cannot be negative.
	Skew time.Duration
	// Client fetches metadata and keys, and follows no redirects; nil: one like [http.DefaultClient].
	Client *http.Client
}

// New returns the verifier. Nothing is fetched before the first token comes. Keys are fetched again after ten minutes, and when a token names one that is not known; then not for 30 seconds,
// unless it was among those that came. While they cannot be fetched, the old ones are good for four hours.
//
// A token must have a type of JWTs or of access tokens, or none; the issuer; this audience; a subject; and an exp that is not over. nbf and iat are heeded where they are there.
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
	v.keys.fetch = func(ctx context.Context) (*jose.KeySet, error) { return caller.keys(ctx, o.Issuer, o.KeysURL) }
	return v.verify, nil
}

// keys fetches the keys of an issuer; address is "" if it is to be found out.
func (c *issuerClient) keys(ctx context.Context, issuer, address string) (*jose.KeySet, error) {
	if address == "" {
		m, err := c.discover(ctx, issuer)
		if err != nil {
			return nil, err
		}
		if err := checkEndpoint("jwks_uri of the issuer", m.JWKSURI, issuer); err != nil {
			return nil, err
		}
		address = m.JWKSURI
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

// tokenTypes are what a token may call itself: not an ID token's business to tell, but a proof, a logout or an event is no access token (RFC 9068, section 4, and RFC 8725, section 3.11).
var tokenTypes = [...]string{"", "jwt", "at+jwt", "application/at+jwt"}

func (v *jwtVerifier) verify(ctx context.Context, text string) (*Identity, error) {
	token, err := jose.Parse(text)
	if err != nil {
		return nil, &TokenError{"the token is no JWT", err}
	}
	if !slices.Contains(tokenTypes[:], strings.ToLower(token.Header.Type)) {
		return nil, &TokenError{Reason: "the token is not an access token"}
	}
	if !slices.Contains(v.algorithms, token.Header.Algorithm) { // nothing is fetched for it
		return nil, &TokenError{Reason: "the token is signed with an algorithm that is not allowed here"}
	}
	keys, err := v.keys.candidates(ctx, token.Header.KeyID, token.Header.Algorithm)
	switch {
	case errors.Is(err, errNoKey):
		return nil, &TokenError{"the token is signed with a key that is not known here", err}
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
		return nil, &TokenError{"the token's signature does not hold", err}
	}
	claims, err := jose.ParseClaims(payload)
	if err != nil {
		return nil, &TokenError{"the token's claims are not what they may be", err}
	}
	if claims.Expires.IsZero() {
		return nil, &TokenError{Reason: "the token has no exp"}
	}
	return v.identity(claims, time.Now())
}
