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

// A Verifier verifies an access token. It must check that the token was issued for this server by a
// trusted issuer and is still valid; an identity that it returns without error is trusted. It is
// called concurrently. A [*TokenError] refuses the token with 401, [ErrUnavailable] and any other
// error the request with 503. The verifier must not keep or log the token, or put it into an error.
type Verifier func(ctx context.Context, token string) (*Identity, error)

// An Identity is who calls and what he may do, from an access token or from another way in which
// a transport has authenticated him; see [WithIdentity]. It must not be modified.
type Identity struct {
	Issuer   string   // of the token, or the name of the other way
	Subject  string   // the user or program, unique for the issuer
	ClientID string   // of the OAuth client; "": unknown
	Groups   []string // that the subject belongs to, from the claim groups of a token
	Scopes   []string
	Expires  time.Time // zero: unknown
	// KeyThumbprint is the thumbprint of the key that the token is bound to (RFC 9449, section 6);
	// "": a bearer token.
	KeyThumbprint string
	// Claims are the other claims of the token, by name.
	Claims map[string]json.RawMessage
}

// Principal returns a name that is unique for the issuer and subject: ISSUER#SUBJECT.
// unambiguous, because an issuer has no fragment
func (id *Identity) Principal() string { return id.Issuer + "#" + id.Subject }

// IdentityFrom returns the identity of the caller from a handler's context, or nil if it is
// unknown: the request did not pass [Resource.Authorize], and nothing has called [WithIdentity].
func IdentityFrom(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

// WithIdentity returns a context with the identity of the caller, for a transport that
// authenticates callers in another way than by the tokens of a [Resource]: by names in a file,
// client certificates or the user of a Unix socket.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

type identityKey struct{}

// A TokenError is the error of a [Verifier] for an invalid token.
type TokenError struct {
	// sent to the client as error_description; it must not reveal the content of the token
	Reason string
	Err    error // logged only; may be nil
}

func (e *TokenError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return e.Reason
}

func (e *TokenError) Unwrap() error { return e.Err }

// ErrUnavailable is the error of a [Verifier] that could not verify a token, for example because
// the authorization server did not answer. The client may retry. Test for it with [errors.Is].
var ErrUnavailable = errors.New("auth: the authorization server is unavailable")

const (
	maxScopes = 256 // of one token
	maxGroups = 1000
)

// A claimsVerifier checks the claims of a token, from a JWT or from introspection.
type claimsVerifier struct {
	issuer, audience string
	skew             time.Duration
}

const defaultSkew = 30 * time.Second

// newClaimsVerifier checks the settings that all verifiers share.
func newClaimsVerifier(issuer, audience string, skew time.Duration) (claimsVerifier, error) {
	_, err := checkURL("Issuer", issuer)
	switch {
	case err != nil:
		return claimsVerifier{}, err
	case audience == "":
		return claimsVerifier{},
			errors.New("auth: the Audience is missing; it is usually the URL of the resource")
	case skew < 0:
		return claimsVerifier{}, errors.New("auth: the Skew is negative; set 0 for the default")
	}
	return claimsVerifier{issuer, audience, cmp.Or(skew, defaultSkew)}, nil
}

// identity checks authentic claims and returns their identity. The error is a *TokenError.
func (c *claimsVerifier) identity(claims *jose.Claims, now time.Time) (*Identity, error) {
	switch {
	case claims.Issuer != c.issuer:
		return nil, &TokenError{Reason: "the token is from another issuer"}
	case !slices.ContainsFunc(claims.Audience,
		func(a string) bool { return sameResource(a, c.audience) }):
		return nil, &TokenError{Reason: "the token is for another resource"}
	case claims.Subject == "":
		return nil, &TokenError{Reason: "the token has no subject"}
	case !claims.Expires.IsZero() && !now.Before(claims.Expires.Add(c.skew)):
		return nil, errExpired()
	case !claims.NotBefore.IsZero() && now.Add(c.skew).Before(claims.NotBefore.Time):
		return nil, &TokenError{Reason: "the token is not valid yet"}
	case !claims.IssuedAt.IsZero() && now.Add(c.skew).Before(claims.IssuedAt.Time):
		return nil, &TokenError{Reason: "the token was issued in the future"}
	}
	id := &Identity{Issuer: claims.Issuer, Subject: claims.Subject, Claims: claims.Others}
	if !claims.Expires.IsZero() {
		id.Expires = claims.Expires.Add(c.skew)
	}
	var err error
	if id.Scopes, err = tokenScopes(claims); err != nil {
		return nil, err
	}
	if id.Groups, err = tokenGroups(claims); err != nil {
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
			return nil, &TokenError{Reason: "the token's " + name + " is not a string"}
		}
	}
	return id, nil
}

func errExpired() error { return &TokenError{Reason: "the token has expired"} }

// tokenScopes reads the claim scope (RFC 8693, section 4.2) or scp. Issuers encode each as a list
// of words or as an array.
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
			return nil, &TokenError{Reason: "the token's " + name +
				" is neither a string nor an array of strings"}
		}
		if len(scopes) > maxScopes {
			return nil, &TokenError{
				Reason: fmt.Sprintf("the token has more than %d scopes", maxScopes)}
		}
		return scopes, nil
	}
	return nil, nil
}

// tokenGroups reads the claim groups. Issuers encode it as an array of names or as one name; in RFC
// 9068, section 2.2.3.1, and so in SCIM, each is an object with a value. What has another form
// names no group.
func tokenGroups(claims *jose.Claims) ([]string, error) {
	raw := claims.Others["groups"]
	if raw == nil {
		return nil, nil
	}
	var members []json.RawMessage
	if jsonexact.Unmarshal(raw, &members) != nil {
		members = []json.RawMessage{raw}
	}
	if len(members) > maxGroups {
		return nil, &TokenError{
			Reason: fmt.Sprintf("the token has more than %d groups", maxGroups)}
	}
	var groups []string
	for _, m := range members {
		var name string
		var group map[string]json.RawMessage
		if jsonexact.Unmarshal(m, &group) == nil {
			m = group["value"]
		}
		if jsonexact.Unmarshal(m, &name) == nil && name != "" {
			groups = append(groups, name)
		}
	}
	return groups, nil
}

// confirmationThumbprint reads the claim cnf (RFC 7800). A token with an unknown confirmation
// method is refused, because its sender cannot be verified.
func confirmationThumbprint(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var members map[string]json.RawMessage
	var thumbprint string
	if jsonexact.Unmarshal(raw, &members) != nil || len(members) != 1 ||
		jsonexact.Unmarshal(members["jkt"], &thumbprint) != nil || thumbprint == "" {
		return "", &TokenError{Reason: "the token is bound to its sender by an unsupported method"}
	}
	return thumbprint, nil
}
