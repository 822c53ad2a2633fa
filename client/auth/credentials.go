package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

// A Registration is what a client is at one authorization server. One that was made beforehand belongs into [Options].Clients.
type Registration struct {
	// Issuer is the authorization server that has registered the client, as it calls itself, to the
	// letter. It is the only one that sees Secret, a signature of Key, or what a Grant asserts,
	// whatever the MCP server names; so it is required with any of these. For a client that has
	// none of them, "" is the one that the MCP server names when the registration is first used:
	// that is remembered in Options.Store, and from then on it is good for that one only.
	Issuer   string `json:"issuer,omitempty"`
	ClientID string `json:"client_id"`
	Secret   string `json:"client_secret,omitempty"`
	// AuthMethod is how the client shows who it is: "none", "client_secret_basic", "client_secret_post" or "private_key_jwt". "" is the best that the
	// authorization server offers, and the client can do.
	AuthMethod string `json:"token_endpoint_auth_method,omitempty"`
	// Key signs what shows who the client is, with private_key_jwt: ECDSA on P-256, Ed25519 or RSA. KeyID and Algorithm, such as "ES256", may be "" where there
	// is only one.
	Key       crypto.Signer `json:"-"`
	KeyID     string        `json:"-"`
	Algorithm string        `json:"-"`

	RedirectURI string    `json:"redirect_uri,omitempty"`  // that a dynamic registration was made with
	Scopes      []string  `json:"scopes,omitempty"`        // that a dynamic registration was made for; nil: any
	Expires     time.Time `json:"secret_expires,omitzero"` // when a dynamic registration's secret does; zero: never
}

// String is the registration without its secret.
func (r Registration) String() string { return fmt.Sprintf("client %q at %s", r.ClientID, r.Issuer) }

// LogValue implements [slog.LogValuer], without the secret.
func (r Registration) LogValue() slog.Value { return slog.StringValue(r.String()) }

// GoString is [Registration.String].
func (r Registration) GoString() string { return r.String() }

// A Key tells [Credentials] apart. Those of one authorization server are never shown to another.
type Key struct {
	Endpoint string `json:"endpoint"`         // the URL of the MCP server, as it was given
	Issuer   string `json:"issuer"`           // the authorization server
	Resource string `json:"resource"`         // the MCP server, as its metadata calls it
	Client   string `json:"client,omitempty"` // the client's id that was configured; "" if it was registered dynamically
	Grant    string `json:"grant"`            // the way to the token, such as "authorization_code"
}

// String is the key without what may be secret in the URL.
func (k Key) String() string {
	return fmt.Sprintf("%s for %s, client %q, %s", k.Issuer, redactURL(k.Endpoint), k.Client, k.Grant)
}

// GoString is [Key.String].
func (k Key) GoString() string { return k.String() }

// LogValue implements [slog.LogValuer], without what may be secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Credentials are what a client has got from an authorization server for one MCP server. Printing and logging them shows no secret; encoding them as JSON does.
type Credentials struct {
	Key
	Metadata     string       `json:"resource_metadata,omitempty"` // where the server has said who its authorization server is
	Registration Registration `json:"registration"`
	Scopes       []string     `json:"scopes,omitempty"` // that were asked for
	Granted      string       `json:"granted,omitempty"`
	Type         string       `json:"token_type"` // "Bearer" or "DPoP"
	AccessToken  string       `json:"access_token"`
	RefreshToken string       `json:"refresh_token,omitempty"`
	Expires      time.Time    `json:"expires,omitzero"` // when the access token does; zero if the server has not said
	DPoPKey      []byte       `json:"dpop_key,omitempty"`
	// Saved tells which are newer: it is the time, or a nanosecond after the Saved of those before.
	Saved time.Time `json:"saved,omitzero"`

	signer       *jose.Signer // of DPoPKey
	withoutGrant bool         // without anybody's doing: if they are refused, something more can be tried
}

// String names the credentials without what is secret in them.
func (c Credentials) String() string {
	return fmt.Sprintf("credentials of %s for %s", c.Issuer, redactURL(c.Endpoint))
}

// GoString is [Credentials.String].
func (c Credentials) GoString() string { return c.String() }

// LogValue implements [slog.LogValuer], without what is secret.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// expired says whether the access token is as good as that at a time.
func (c *Credentials) expired(now time.Time) bool {
	const early = 10 * time.Second // the clocks differ, and a request takes its time
	return !c.Expires.IsZero() && now.Add(early).After(c.Expires)
}

// prepare checks credentials that come from a store, and makes them ready for use.
func (c *Credentials) prepare() error {
	switch {
	case c.Issuer == "" || c.Resource == "" || c.Endpoint == "":
		return errors.New("it is incomplete")
	case c.AccessToken != "" && !isToken(c.AccessToken):
		return errors.New("its token has characters that no token has")
	case c.Type != bearer && c.Type != dpop:
		return errors.New("its token is of a type that is not known")
	case c.Type == dpop && c.DPoPKey == nil:
		return errors.New("it has no key for DPoP")
	case c.DPoPKey == nil:
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(c.DPoPKey)
	private, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return errors.New("its key for DPoP is none")
	}
	c.signer, err = jose.NewSigner(private, jose.ES256)
	return err
}

const (
	bearer = "Bearer" // RFC 6750
	dpop   = "DPoP"   // RFC 9449
)

// isToken reports text that may stand in an Authorization header by itself (RFC 6749, appendix A.12).
func isToken(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != ""
}
