package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Verifier settles what an access token stands for. It must make sure that the token was issued for this server, by an issuer that is trusted, and that it is still good; what it
// returns without an error is believed. Any number of goroutines call it at a time. A [*TokenError] refuses the token, [ErrUnavailable] the request. The token is not to be kept, logged, or put
// into an error.
type Verifier func(ctx context.Context, token string) (*Identity, error)

// An Identity is who is behind an access token, and what the token is good for. It is not to be changed.
type Identity struct {
	Issuer   string // of the token
	Subject  string // who it is, among those that the issuer knows
	ClientID string // of the program that they use; "" if the token does not say
	Scopes   []string
	Expires  time.Time // zero: the token does not say
	// KeyThumbprint is that of the key that a sender of the token must have (RFC 9449, section 6); "": a bearer token.
	KeyThumbprint string
	// Claims are what else the token says, by name.
	Claims map[string]json.RawMessage
}

// Principal returns one name for issuer and subject, which no other issuer and subject have.
func (id *Identity) Principal() string { return id.Issuer + "#" + id.Subject } // an issuer has no fragment

// IdentityFrom returns who sent the request that is handled with a context; nil if it did not come through [Resource.Authorize].
func IdentityFrom(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

type identityKey struct{}

// A TokenError is a verifier's error for a token that is not good.
type TokenError struct {
	Reason string // shown to the client, as error_description; it says nothing that only the token says
	Err    error  // for the log only; nil: there is nothing more
}

func (e *TokenError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return e.Reason
}

func (e *TokenError) Unwrap() error { return e.Err }

// ErrUnavailable is a verifier's error when it could not be settled whether a token is good, say because the authorization server does not answer. The client is to try again.
var ErrUnavailable = errors.New("auth: the authorization server cannot be asked")

const maxScopes = 256 // of one token

// A check is what claims have to say, whoever says them.
type claimsVerifier struct {
	issuer, audience string
	skew             time.Duration
}

const defaultSkew = 30 * time.Second

// newClaimsVerifier returns one for the settings that all verifiers have.
func newClaimsVerifier(issuer, audience string, skew time.Duration) (claimsVerifier, error) {
	_, err := checkURL("Issuer", issuer)
	switch {
	case err != nil:
		return claimsVerifier{}, err
	case audience == "":
		return claimsVerifier{}, errors.New("auth: the Audience is missing; it is usually the URL of the resource")
	case skew < 0:
		return claimsVerifier{}, errors.New("auth: the Skew is negative; clocks cannot differ by less than nothing")
	}
	return claimsVerifier{issuer, audience, cmp.Or(skew, defaultSkew)}, nil
}

// identity makes an identity of claims that are to be believed. The error is a *TokenError.
func (c *claimsVerifier) identity(claims *jose.Claims, now time.Time) (*Identity, error) {
	switch {
	case claims.Issuer != c.issuer:
		return nil, &TokenError{Reason: "the token is of another issuer"}
	case !slices.ContainsFunc(claims.Audience, func(a string) bool { return sameResource(a, c.audience) }):
		return nil, &TokenError{Reason: "the token is for another resource"}
	case claims.Subject == "":
		return nil, &TokenError{Reason: "the token has no subject"}
	case !claims.Expires.IsZero() && !now.Before(claims.Expires.Add(c.skew)):
		return nil, errExpired()
	case !claims.NotBefore.IsZero() && now.Add(c.skew).Before(claims.NotBefore.Time):
		return nil, &TokenError{Reason: "the token is not good yet"}
	case !claims.IssuedAt.IsZero() && now.Add(c.skew).Before(claims.IssuedAt.Time):
		return nil, &TokenError{Reason: "the token is of the future"}
	}
	id := &Identity{Issuer: claims.Issuer, Subject: claims.Subject, Claims: claims.Others}
	if !claims.Expires.IsZero() {
		id.Expires = claims.Expires.Add(c.skew)
	}
	var err error
	if id.Scopes, err = tokenScopes(claims); err != nil {
		return nil, err
	}
	if id.KeyThumbprint, err = confirmationThumbprint(claims.Others["cnf"]); err != nil {
		return nil, err
	}
	for _, name := range [...]string{"client_id", "azp"} {
		if id.ClientID != "" {
			break
		}
		if id.ClientID, err = claims.Text(name); err != nil {
			return nil, &TokenError{Reason: "the token's " + name + " is no string"}
		}
	}
	return id, nil
}

func errExpired() error { return &TokenError{Reason: "the token has expired"} }

// tokenScopes reads the claim scope (RFC 8693, section 4.2) or scp, of which both are found as a list of words and as an array.
func tokenScopes(claims *jose.Claims) ([]string, error) {
	for _, name := range [...]string{"scope", "scp"} {
		raw := claims.Others[name]
		if raw == nil {
			continue
		}
		var scopes []string
		if words, err := claims.Text(name); err == nil {
			scopes = strings.Fields(words)
		} else if err := jsonexact.Unmarshal(raw, &scopes); err != nil {
			return nil, &TokenError{Reason: "the token's " + name + " is neither a string nor an array of strings"}
		}
		if len(scopes) > maxScopes {
			return nil, &TokenError{Reason: fmt.Sprintf("the token has more than %d scopes", maxScopes)}
		}
		return scopes, nil
	}
	return nil, nil
}

// confirmationThumbprint reads the claim cnf (RFC 7800). A way to confirm the sender that cannot be gone here is one that must not be passed by.
func confirmationThumbprint(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var members map[string]json.RawMessage
	var thumbprint string
	if jsonexact.Unmarshal(raw, &members) != nil || len(members) != 1 || jsonexact.Unmarshal(members["jkt"], &thumbprint) != nil || thumbprint == "" {
		return "", &TokenError{Reason: "the token is bound to its sender in a way that is not known here"}
	}
	return thumbprint, nil
}
