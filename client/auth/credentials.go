package auth

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jose"
)

// A Key identifies [Credentials] in a [Store]. Credentials of one authorization server are never
// sent to another.
type Key struct {
	Endpoint string `json:"endpoint"` // the URL of the MCP server, as passed to New
	Issuer   string `json:"issuer"`   // the authorization server
	// the resource identifier in the MCP server's metadata
	Resource string `json:"resource"`
	// the configured client id; "" for a dynamic registration
	Client string `json:"client,omitempty"`
	Grant  string `json:"grant"` // the grant type, such as "authorization_code"
}

// text describes the key without the URL's user and query, which may be secret.
func (k Key) text() string {
	return fmt.Sprintf("%s for %s, client %q, %s", k.Issuer, httpurl.PublicText(k.Endpoint), k.Client,
		k.Grant)
}

// Format implements [fmt.Formatter]. It omits the URL's user and query, which may be secret.
func (k Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, k.text()) }

// LogValue implements [slog.LogValuer], and omits the same.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.text()) }

// Credentials are the tokens of one client for one MCP server. Printing or logging them shows no
// secret; encoding them as JSON does.
type Credentials struct {
	Key
	// the URL of the protected resource metadata
	Metadata     string       `json:"resource_metadata,omitempty"`
	Registration Registration `json:"registration"`
	Scopes       []string     `json:"scopes,omitempty"` // requested
	Granted      string       `json:"granted,omitempty"`
	Type         string       `json:"token_type"` // "Bearer" or "DPoP"
	AccessToken  string       `json:"access_token"`
	RefreshToken string       `json:"refresh_token,omitempty"`
	Expires      time.Time    `json:"expires,omitzero"` // of the access token; zero: unknown
	DPoPKey      []byte       `json:"dpop_key,omitempty"`
	// Saved orders credentials by age. It is the time at which they were obtained, or 1 ns after
	// the latest earlier Saved if the clock has not advanced.
	Saved time.Time `json:"saved,omitzero"`

	renew  time.Time    // when they are replaced, before Expires; zero: 10 s before
	signer *jose.Signer // made from DPoPKey
	// from the Store or a refresh: if the server refuses them, the Grant is tried
	withoutGrant bool
}

// text describes the credentials without secrets.
func (c Credentials) text() string {
	return fmt.Sprintf("credentials of %s for %s", c.Issuer, httpurl.PublicText(c.Endpoint))
}

// Format implements [fmt.Formatter]. It omits secrets.
func (c Credentials) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, c.text()) }

// LogValue implements [slog.LogValuer]. It omits secrets.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.text()) }

// expired reports whether the access token expires within 10 s of now, or is to be replaced.
func (c *Credentials) expired(now time.Time) bool {
	if !c.renew.IsZero() {
		return !now.Before(c.renew)
	}
	const early = 10 * time.Second // for differences of clocks and the time that a request takes
	return !c.Expires.IsZero() && now.Add(early).After(c.Expires)
}

// prepare validates credentials from a Store and restores their signer.
func (c *Credentials) prepare() error {
	switch {
	case c.Issuer == "" || c.Resource == "" || c.Endpoint == "":
		return errors.New("incomplete")
	case c.AccessToken != "" && !isVisible(c.AccessToken):
		return errors.New("invalid characters in the token")
	case c.Type != bearer && c.Type != dpop:
		return errors.New("unsupported token type")
	case c.Type == dpop && c.DPoPKey == nil:
		return errors.New("no DPoP key")
	case c.DPoPKey == nil:
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(c.DPoPKey)
	private, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return errors.New("invalid DPoP key")
	}
	c.signer, err = jose.NewSigner(private, jose.ES256)
	return err
}

const (
	bearer = "Bearer" // RFC 6750
	dpop   = "DPoP"   // RFC 9449
)
