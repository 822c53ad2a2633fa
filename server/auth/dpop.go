package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jose"
)

// DPoPOptions are the settings of tokens that are bound to a key of their sender by DPoP (RFC
// 9449). A bound token is never accepted without a proof, whatever the settings. Each of several
// servers behind one address remembers only the proofs that it has seen itself.
type DPoPOptions struct {
	// Required refuses bearer tokens.
	Required bool
	// NonceKey makes the server require a recent nonce of its own in each proof, so that proofs
	// cannot be made in advance (RFC 9449, section 9). It is a secret of at least 32 bytes, shared
	// by the servers behind one address; nil: no nonce is required.
	NonceKey []byte
}

// Limits on proofs.
const (
	proofAge    = time.Minute      // maximum age
	proofAhead  = 30 * time.Second // how far the client's clock may be ahead
	maxProof    = 8 << 10          // bytes
	maxProofID  = 256              // bytes
	maxProofs   = 500_000          // remembered in each half of the map; each principal has a share
	nonceWindow = 3 * time.Minute  // how long a nonce is current; it stays valid for as long again
)

// errTooManyProofs means that no more proofs can be remembered, so a replay could not be detected.
var errTooManyProofs = errors.New("auth: too many DPoP proofs to remember")

type dpopVerifier struct {
	o          DPoPOptions
	origin     *url.URL // of the resource, as clients know it
	usedProofs expiringMap[struct{}]
}

func (o *DPoPOptions) newVerifier(resource *url.URL) (*dpopVerifier, error) {
	if o.NonceKey != nil && len(o.NonceKey) < 32 {
		return nil, errors.New("auth: the NonceKey has fewer than 32 bytes")
	}
	return &dpopVerifier{o: *o, origin: resource,
		usedProofs: expiringMap[struct{}]{keep: proofAge + proofAhead, maxEntries: maxProofs}}, nil
}

func (d *dpopVerifier) required() bool { return d != nil && d.o.Required }

// check verifies the proof of a request whose token is bound to a key (RFC 9449, sections 4.3 and
// 7.1). It returns headers for the response. The error is a *codedError or errTooManyProofs.
func (d *dpopVerifier) check(r *http.Request, c credentials, id *Identity) (http.Header, error) {
	bad := func(description string) (http.Header, error) {
		return nil, tokenError("invalid_dpop_proof", description)
	}
	now := time.Now()
	values := r.Header["Dpop"]
	if len(values) != 1 || len(values[0]) > maxProof {
		return bad("there must be one DPoP header of at most 8 KiB")
	}
	token, err := jose.Parse(values[0])
	if err != nil {
		return bad("the proof is not a JWT")
	}
	if token.Header.Type != "dpop+jwt" || token.Header.Key == nil {
		return bad("the proof does not have the typ dpop+jwt and a jwk")
	}
	payload, err := token.Verify(token.Header.Key, algorithms...)
	if err != nil {
		return bad("the proof is not signed by its jwk with a supported algorithm")
	}
	claims, err := jose.ParseClaims(payload)
	if err != nil {
		return bad("the proof's claims are malformed")
	}
	text := func(name string) string {
		value, _ := claims.Text(name) // a value that is not a string compares as ""
		return value
	}
	hash := sha256.Sum256([]byte(c.token))
	switch {
	case claims.ID == "" || len(claims.ID) > maxProofID:
		return bad("the proof's jti is missing or too long")
	case text("htm") != r.Method:
		return bad("the proof's htm does not match the method")
	case !d.isTarget(text("htu"), r):
		return bad("the proof's htu does not match the URL")
	case claims.IssuedAt.IsZero() || claims.IssuedAt.Before(now.Add(-proofAge)) ||
		claims.IssuedAt.After(now.Add(proofAhead)):
		return bad("the proof's iat is not recent")
	case text("ath") != base64.RawURLEncoding.EncodeToString(hash[:]):
		return bad("the proof's ath does not match the token")
	case token.Header.Key.Thumbprint() != id.KeyThumbprint:
		return nil, tokenError("invalid_token",
			"the token is bound to a different key than the proof's")
	}
	header, err := d.checkNonce(text("nonce"), now)
	if err != nil {
		return header, err
	}
	first, full := d.usedProofs.addIfAbsent(id.Principal(),
		sha256.Sum256([]byte(id.KeyThumbprint+"."+claims.ID)), struct{}{}, now)
	switch {
	case full:
		return nil, errTooManyProofs
	case !first:
		return bad("the proof was used before")
	}
	return header, nil
}

// isTarget reports whether the claim htu matches the URL of the request as the client knows it. A
// proxy may change scheme and host, but not the path.
func (d *dpopVerifier) isTarget(htu string, r *http.Request) bool {
	u, err := url.Parse(htu)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if absolute, err := url.Parse(path); err == nil && absolute.IsAbs() {
		path = absolute.EscapedPath()
	}
	return httpurl.SameOrigin(u, d.origin) &&
		nonEmptyPath(u.EscapedPath()) == nonEmptyPath(path)
}

func nonEmptyPath(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// checkNonce refuses a nonce that is not valid, and returns a header with the current one. The
// previous nonce is still valid, and the response to it has the header too (RFC 9449, section 8.2).
func (d *dpopVerifier) checkNonce(nonce string, now time.Time) (http.Header, error) {
	if d.o.NonceKey == nil {
		return nil, nil
	}
	window := now.Unix() / int64(nonceWindow/time.Second)
	header := http.Header{"Dpop-Nonce": {d.nonce(window)}}
	switch {
	case hmac.Equal([]byte(nonce), []byte(header["Dpop-Nonce"][0])):
		return nil, nil
	case hmac.Equal([]byte(nonce), []byte(d.nonce(window-1))):
		return header, nil
	}
	return header, tokenError("use_dpop_nonce", "the proof must have the nonce of this answer")
}

func (d *dpopVerifier) nonce(window int64) string {
	mac := hmac.New(sha256.New, d.o.NonceKey)
	mac.Write(binary.BigEndian.AppendUint64([]byte("DPoP-Nonce"), uint64(window)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// algorithms are those that tokens and proofs may be signed with.
var algorithms = []jose.Algorithm{jose.ES256, jose.EdDSA, jose.PS256, jose.RS256}

func algorithmNames(algorithms []jose.Algorithm) []string {
	names := make([]string, 0, len(algorithms))
	for _, alg := range slices.Clone(algorithms) {
		names = append(names, string(alg))
	}
	return names
}
