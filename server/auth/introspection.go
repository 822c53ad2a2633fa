package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// IntrospectionOptions are the settings of a [Verifier] that asks the authorization server about
// each token (RFC 7662).
type IntrospectionOptions struct {
	Issuer   string // an https URL, or http on a loopback address
	Audience string // as in [JWTOptions]; the response must have it

	// Endpoint is the URL of the introspection endpoint; "": from the issuer's metadata.
	Endpoint string
	// ClientID and ClientSecret authenticate this server with HTTP Basic (RFC 6749, section 2.3.1).
	// Both are required (RFC 7662, section 2.1).
	ClientID, ClientSecret string
	// ClientIDAsSubject uses the client_id as subject if the response has no sub, as some
	// authorization servers do for the client credentials grant (OAuth 2.1, section 4.2). Do not
	// set it if the server also omits the subject of users: all of them would be one principal.
	ClientIDAsSubject bool

	// Cache is how long a result is reused, and so how long a revoked token may still be accepted;
	// 0: 30 s; negative: not at all.
	Cache time.Duration
	Skew  time.Duration // as in [JWTOptions]
	// Client sends the requests, without following redirects; nil: like [http.DefaultClient].
	Client *http.Client
}

const (
	maxAnswer  = 16 << 10 // bytes
	maxQueries = 64       // at a time
	maxAnswers = 4_000    // in each half of the cache
)

// New returns the verifier. It sends at most 64 requests at a time; over that, it returns
// [ErrUnavailable]. It caches results, negative ones included, by a hash of the token.
func (o IntrospectionOptions) New() (Verifier, error) {
	check, err := newClaimsVerifier(o.Issuer, o.Audience, o.Skew)
	if err != nil {
		return nil, err
	}
	if o.ClientID == "" || o.ClientSecret == "" {
		return nil, errors.New(
			"auth: the ClientID or the ClientSecret is missing; RFC 7662 requires authentication")
	}
	if o.Endpoint != "" {
		if _, err := checkURL("Endpoint", o.Endpoint); err != nil {
			return nil, err
		}
	}
	o.Cache = cmp.Or(o.Cache, 30*time.Second)
	v := &introspector{
		claimsVerifier: check, o: o, caller: newIssuerClient(o.Client),
		slots: make(chan struct{}, maxQueries), endpoint: o.Endpoint,
		active:   expiringMap[introspectionResult]{keep: o.Cache, maxEntries: maxAnswers},
		inactive: expiringMap[introspectionResult]{keep: o.Cache, maxEntries: maxAnswers},
	}
	return v.verify, nil
}

type introspector struct {
	claimsVerifier
	o      IntrospectionOptions
	caller *issuerClient
	slots  chan struct{} // one element for each request in flight
	active expiringMap[introspectionResult]
	// separate, so that invented tokens cannot evict valid ones
	inactive expiringMap[introspectionResult]

	mu          sync.Mutex // held during discovery
	endpoint    string     // "": unknown
	lastAttempt time.Time
	lastErr     error
}

// An introspectionResult is the cached result for a token.
type introspectionResult struct {
	id      *Identity // nil: the token is invalid
	err     error     // set if id is nil
	expires time.Time
}

func (v *introspector) verify(ctx context.Context, token string) (*Identity, error) {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	if v.o.Cache > 0 {
		for _, kept := range []*expiringMap[introspectionResult]{&v.active, &v.inactive} {
			if a, ok := kept.get(key, now); ok && now.Before(a.expires) {
				return a.id, a.err
			}
		}
	}
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	default:
		return nil, fmt.Errorf("%w: %d introspection requests are in flight", ErrUnavailable,
			maxQueries)
	}
	id, err := v.introspect(ctx, token)
	if _, settled := errors.AsType[*TokenError](err); err != nil && !settled {
		return nil, err
	}
	if v.o.Cache > 0 {
		kept := &v.active
		if err != nil {
			kept = &v.inactive
		}
		kept.put(key, introspectionResult{id, err, time.Now().Add(v.o.Cache)}, time.Now())
	}
	return id, err
}

// introspect asks the authorization server about a token (RFC 7662, section 2). The error is a
// *TokenError or ErrUnavailable.
func (v *introspector) introspect(ctx context.Context, token string) (*Identity, error) {
	endpoint, err := v.findEndpoint(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	body := url.Values{"token": {token}, "token_type_hint": {"access_token"}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(v.o.ClientID), url.QueryEscape(v.o.ClientSecret))
	text, err := v.caller.do(r, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	claims, err := jose.ParseClaims(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, endpoint, err)
	}
	var active bool
	if raw := claims.Others["active"]; raw == nil || jsonexact.Unmarshal(raw, &active) != nil {
		return nil, fmt.Errorf("%w: %s: the response has no boolean member active", ErrUnavailable,
			endpoint)
	}
	if !active {
		return nil, &TokenError{Reason: "the token is not active"}
	}
	if claims.Issuer == "" {
		claims.Issuer = v.issuer // iss is optional
	}
	if raw := claims.Others["client_id"]; claims.Subject == "" && v.o.ClientIDAsSubject &&
		raw != nil && jsonexact.Unmarshal(raw, &claims.Subject) != nil {
		return nil, &TokenError{Reason: "the token's client_id is not a string"}
	}
	return v.identity(claims, time.Now())
}

// findEndpoint returns the endpoint. Discovery happens once; after a failure it is retried as
// rarely as keys are.
func (v *introspector) findEndpoint(ctx context.Context) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.endpoint != "" {
		return v.endpoint, nil
	}
	if v.lastErr != nil && time.Since(v.lastAttempt) < keysRetryAfter {
		return "", v.lastErr
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	v.lastAttempt = time.Now()
	m, err := v.caller.discover(ctx, v.issuer)
	if err == nil {
		err = checkEndpoint("introspection_endpoint of the issuer", string(m.IntrospectionEndpoint),
			v.issuer)
	}
	if v.lastErr = err; err == nil {
		v.endpoint = string(m.IntrospectionEndpoint)
	}
	return v.endpoint, err
}
