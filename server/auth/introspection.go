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

// IntrospectionOptions are the settings of a [Verifier] that asks the authorization server what a token is good for (RFC 7662).
type IntrospectionOptions struct {
	Issuer   string // of https, or of http on this machine
	Audience string // as in [JWTOptions]; the answer must have it

	// Endpoint is where to ask; "": the issuer's metadata says so.
	Endpoint string
	// As whom this server asks, with HTTP Basic (RFC 6749, section 2.3.1). Both are needed, as RFC 7662 wants callers authenticated.
	ClientID, ClientSecret string
	// ClientIDAsSubject takes the client_id for the subject where the answer has none, as some authorization servers have it for clients that act for themselves (OAuth 2.1, section 4.2). It must not
	// be set if the one in question leaves out the subject of users, too: all of them would be one.
	ClientIDAsSubject bool

	// Cache is how long an answer is good without asking again, and so how long a token may still be taken after it was revoked; 0: 30 s; less than 0: not at all.
	Cache time.Duration
	Skew  time.Duration // as in [JWTOptions]
	// Client asks, and follows no redirects; nil: one like [http.DefaultClient].
	Client *http.Client
}

const (
	maxAnswer  = 16 << 10 // bytes
	maxQueries = 64       // at a time
	maxAnswers = 4_000    // that are kept, of the last Cache and as many of the one before
)

// New returns the verifier. At most 64 tokens are asked about at a time, and who comes then is told to try again. Answers are kept by a hash of the token, never the token itself; also that a
// token is not good.
func (o IntrospectionOptions) New() (Verifier, error) {
	check, err := newClaimsVerifier(o.Issuer, o.Audience, o.Skew)
	if err != nil {
		return nil, err
	}
	if o.ClientID == "" || o.ClientSecret == "" {
		return nil, errors.New("auth: the ClientID or the ClientSecret is missing; without them, anybody could ask about tokens")
	}
	if o.Endpoint != "" {
		if _, err := checkURL("Endpoint", o.Endpoint); err != nil {
			return nil, err
		}
	}
	o.Cache = cmp.Or(o.Cache, 30*time.Second)
	v := &introspector{
		claimsVerifier: check, o: o, caller: newIssuerClient(o.Client), slots: make(chan struct{}, maxQueries), endpoint: o.Endpoint,
		active:   expiringMap[introspectionResult]{keep: o.Cache, maxEntries: maxAnswers},
		inactive: expiringMap[introspectionResult]{keep: o.Cache, maxEntries: maxAnswers},
	}
	return v.verify, nil
}

type introspector struct {
	claimsVerifier
	o        IntrospectionOptions
	caller   *issuerClient
	slots    chan struct{} // holds something for each question
	active   expiringMap[introspectionResult]
	inactive expiringMap[introspectionResult] // apart, because anybody can make up tokens: they must not displace the good ones

	mu          sync.Mutex // held while the endpoint is found out
	endpoint    string     // "": not known yet
	lastAttempt time.Time
	lastErr     error
}

// An answer is what was said of a token.
type introspectionResult struct {
	id      *Identity // nil: it is not good
	err     error     // then
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
		return nil, fmt.Errorf("%w: it is being asked about %d tokens", ErrUnavailable, maxQueries)
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

// introspect asks about a token (RFC 7662, section 2). The error is a *TokenError, or ErrUnavailable.
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
		return nil, fmt.Errorf("%w: %s: the answer does not say whether the token is active", ErrUnavailable, endpoint)
	}
	if !active {
		return nil, &TokenError{Reason: "the token is not good, or not any more"}
	}
	if claims.Issuer == "" {
		claims.Issuer = v.issuer // it need not say who it is
	}
	if raw := claims.Others["client_id"]; claims.Subject == "" && v.o.ClientIDAsSubject && raw != nil && jsonexact.Unmarshal(raw, &claims.Subject) != nil {
		return nil, &TokenError{Reason: "the token's client_id is no string"}
	}
	return v.identity(claims, time.Now())
}

// findEndpoint returns where to ask. It is found out once; after a failure, it is tried again as seldom as keys are.
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
		err = checkEndpoint("introspection_endpoint of the issuer", m.IntrospectionEndpoint, v.issuer)
	}
	if v.lastErr = err; err == nil {
		v.endpoint = m.IntrospectionEndpoint
	}
	return v.endpoint, err
}
