// Package credential calls servers behind a gateway with the credentials of each of its users.
//
// What a server is called with is decided from the request of a user, by the credentials of its
// definition ([Selector]), and used by the connection or process that is the user's own
// ([User.Environ], [Wrap]). Nothing else of a request reaches a server: neither the token with
// which the user calls the gateway, which is at most exchanged, nor a header that the definition
// does not name. No value is logged or part of an error.
package credential

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/server/auth"
)

type headerKey struct{}

// Inbound returns a handler that lets a [Selector] read the headers of requests to next.
func Inbound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, r.Header)))
	})
}

// InboundHeader returns the headers that [Inbound] has kept of the request in ctx, or nil.
func InboundHeader(ctx context.Context) http.Header {
	all, _ := ctx.Value(headerKey{}).(http.Header)
	return all
}

// WithInboundHeader returns a context with these headers in place of those of the request.
func WithInboundHeader(ctx context.Context, header http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, header)
}

// A User is what the connection of a user to one server is made with. It is immutable, and is
// formatted without its values.
type User struct {
	header  map[string]string // by the server's names
	env     map[string]string
	subject string    // the token to exchange
	expires time.Time // of subject; zero: unknown
}

// Format implements [fmt.Formatter]. It shows no value.
func (*User) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "a user") }

// Environ returns variables for the process of the user.
func (u *User) Environ() map[string]string { return u.env }

// A Selector selects what a server is called with from the requests of users. It is safe for
// concurrent use.
type Selector struct {
	c   *config.Credentials
	key []byte // of digests

	mu      sync.Mutex
	refused map[[sha256.Size]byte]refusal // by the digest of a token
}

// NewSelector returns the selector for the credentials of a server.
func NewSelector(c *config.Credentials) *Selector {
	s := &Selector{c: c, key: make([]byte, 32), refused: map[[sha256.Size]byte]refusal{}}
	_, _ = rand.Read(s.key) // never fails
	return s
}

// User is gateway.Upstream.User. It names a user by his principal and a digest of what the server
// gets from his request, so that requests of one principal that differ in it share no connection.
// The value is a [*User]. If the token of the user has been refused lately, that is the error.
func (s *Selector) User(ctx context.Context) (name string, value any, err error) {
	user, err := newUser(ctx, s.c)
	if err == nil {
		err = s.refusalOf(user)
	}
	if err != nil {
		return "", nil, err
	}
	shared := map[string]string{}
	maps.Copy(shared, user.header)
	maps.Copy(shared, user.env)
	if s.c.SubjectHeader != "" {
		shared[s.c.SubjectHeader] = user.subject
	} else if id := auth.IdentityFrom(ctx); user.subject != "" && id != nil {
		// what a token permits is not for another one of the same user
		shared["client"] = id.ClientID
		shared["scope"] = strings.Join(slices.Sorted(slices.Values(id.Scopes)), " ")
	}
	if name = dispatch.PrincipalFrom(ctx); len(shared) == 0 {
		return name, user, nil
	}
	digest := hmac.New(sha256.New, s.key)
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		fmt.Fprintf(digest, "%d %s%d %s", len(name), name, len(shared[name]), shared[name])
	}
	return name + " " + hex.EncodeToString(digest.Sum(nil)[:16]), user, nil
}

// newUser returns the user of the request in ctx.
func newUser(ctx context.Context, c *config.Credentials) (u *User, err error) {
	u = new(User)
	id := auth.IdentityFrom(ctx)
	switch c.Type {
	case config.CredentialHeader:
		u.header = make(map[string]string, len(c.Headers))
		for _, from := range slices.Sorted(maps.Keys(c.Headers)) {
			if u.header[c.Headers[from]], err = header(ctx, from); err != nil {
				return nil, err
			}
		}
		return u, nil
	case config.CredentialEnv:
		u.env = make(map[string]string, len(c.Env))
		for _, name := range slices.Sorted(maps.Keys(c.Env)) {
			if u.env[name], err = variable(ctx, id, c.Env[name]); err != nil {
				return nil, err
			}
		}
		return u, nil
	}
	if c.SubjectHeader != "" {
		u.subject, err = header(ctx, c.SubjectHeader)
		return u, err
	}
	if u.subject, err = accessToken(ctx, id); err == nil {
		u.expires = id.Expires
	}
	return u, err
}

// header returns the value of a header of the request in ctx.
func header(ctx context.Context, name string) (string, error) {
	all, overHTTP := ctx.Value(headerKey{}).(http.Header)
	values := all.Values(name)
	switch {
	case !overHTTP:
		return "", fmt.Errorf("needs the header %s of its callers, and this request did not come over HTTP", name)
	case len(values) != 1 || values[0] == "":
		return "", fmt.Errorf("needs the header %s of its callers, once and not empty: add it to the configuration of the client", name)
	}
	return values[0], nil
}

var errNoAccessToken = errors.New("needs an access token of its callers to exchange: " +
	"serve with --oauth-issuer, so that they have one, or name a header with \"subjectHeader\"")

// accessToken returns the access token with which the request in ctx was authorized. It must be one
// that an authorization server has issued to the user, and not one of the gateway itself.
func accessToken(ctx context.Context, id *auth.Identity) (string, error) {
	all, _ := ctx.Value(headerKey{}).(http.Header)
	scheme, token, _ := strings.Cut(all.Get("Authorization"), " ")
	issued := id != nil && (strings.HasPrefix(id.Issuer, "https://") ||
		strings.HasPrefix(id.Issuer, "http://"))
	if token = strings.TrimSpace(token); !issued || token == "" ||
		!strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
		return "", errNoAccessToken
	}
	return token, nil
}

// variable returns a value of config.Credentials.Env for the request in ctx.
func variable(ctx context.Context, id *auth.Identity, of string) (value string, err error) {
	kind, name, _ := strings.Cut(of, ":")
	if id == nil {
		id = &auth.Identity{Subject: dispatch.PrincipalFrom(ctx)}
	}
	switch kind {
	case "subject":
		value = id.Subject
	case "issuer":
		value = id.Issuer
	case "client_id":
		value = id.ClientID
	case "scopes":
		return strings.Join(id.Scopes, " "), nil
	case "groups":
		text, err := json.Marshal(append([]string{}, id.Groups...))
		return string(text), err
	case "header":
		value, err = header(ctx, name)
	case "claim":
		claim := id.Claims[name]
		if text, isText := jsonscan.Text(claim); isText {
			value = text
		} else {
			value = string(claim)
		}
	}
	if err == nil && (value == "" || strings.ContainsRune(value, 0)) {
		err = fmt.Errorf("needs the %s of its callers, and this one has none", of)
	}
	return value, err
}
