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

	"github.com/stdwire/stdwire/internal/jose"
)

// DPoPOptions are the settings of tokens that are good only together with a proof that their sender has a key (RFC 9449). A token that is bound to a key is never
// taken without the proof, whatever the settings. Of several servers behind one address, each remembers only the proofs that it has seen itself.
type DPoPOptions struct {
	// Required refuses all other tokens.
	Required bool
	// NonceKey makes proofs have a nonce that this server has made, not long ago (RFC 9449, section 9): so nobody can make proofs in advance. It is a secret of 32 bytes
	// or more, which servers behind one address share; nil: no nonce is asked for.
	NonceKey []byte
}

// What a proof has to keep to.
const (
	proofAge    = time.Minute      // how long ago it may have been made
	proofAhead  = 30 * time.Second // how far its maker's clock may be ahead
	maxProof    = 8 << 10          // bytes
	maxProofID  = 256              // bytes
	maxProofs   = 500_000          // that are remembered of the last one and a half minutes, and as many of before; each principal has a share
	nonceWindow = 3 * time.Minute  // how long a nonce is the new one; it is good for as long again
)

// errTooManyProofs is that as many proofs were seen as can be remembered: none can be told from its copies.
var errTooManyProofs = errors.New("auth: too many DPoP proofs at a time")

type dpopVerifier struct {
	o          DPoPOptions
	origin     *url.URL // of the resource, as clients know it
	usedProofs expiringMap[struct{}]
}

func (o *DPoPOptions) newVerifier(resource *url.URL) (*dpopVerifier, error) {
	if o.NonceKey != nil && len(o.NonceKey) < 32 {
		return nil, errors.New("auth: the NonceKey has fewer than 32 bytes")
	}
	return &dpopVerifier{o: *o, origin: resource, usedProofs: expiringMap[struct{}]{keep: proofAge + proofAhead, maxEntries: maxProofs}}, nil
}

func (d *dpopVerifier) required() bool { return d != nil && d.o.Required }

// check verifies the proof that came with the token of an identity, which is bound to a key (RFC
// 9449, sections 4.3 and 7.1). It returns headers for the answer. The error is a *codedError, or
// errFull.
func (d *dpopVerifier) check(r *http.Request, c credentials, id *Identity) (http.Header, error) {
	bad := func(description string) (http.Header, error) {
		return nil, tokenError("invalid_dpop_proof", description)
	}
	now := time.Now()
	values := r.Header["Dpop"]
	if len(values) != 1 || len(values[0]) > maxProof {
		return bad("there is to be one DPoP header, of a length that is reasonable")
	}
	token, err := jose.Parse(values[0])
	if err != nil {
		return bad("the proof has not the form of one")
	}
	if token.Header.Type != "dpop+jwt" || token.Header.Key == nil {
		return bad("the proof has not the typ dpop+jwt, or no jwk")
	}
	payload, err := token.Verify(token.Header.Key, algorithms...)
	if err != nil {
		return bad("the proof is not signed by its key, with an algorithm that is known here")
	}
	claims, err := jose.ParseClaims(payload)
	if err != nil {
		return bad("the proof's claims have not the form of them")
	}
	text := func(name string) string {
		value, _ := claims.Text(name) // what is no string is not what it is compared with
		return value
	}
	hash := sha256.Sum256([]byte(c.token))
	switch {
	case claims.ID == "" || len(claims.ID) > maxProofID:
		return bad("the proof's jti is missing or too long")
	case text("htm") != r.Method:
		return bad("the proof's htm is not the method")
	case !d.isTarget(text("htu"), r):
		return bad("the proof's htu is not the address")
	case claims.IssuedAt.IsZero() || claims.IssuedAt.Before(now.Add(-proofAge)) || claims.IssuedAt.After(now.Add(proofAhead)):
		return bad("the proof's iat is not of now")
	case text("ath") != base64.RawURLEncoding.EncodeToString(hash[:]):
		return bad("the proof's ath is not of the token")
	case token.Header.Key.Thumbprint() != id.KeyThumbprint:
		return nil, tokenError("invalid_token", "the token is bound to another key than the proof's")
	}
	header, err := d.checkNonce(text("nonce"), now)
	if err != nil {
		return header, err
	}
	first, full := d.usedProofs.addIfAbsent(id.Principal(), sha256.Sum256([]byte(id.KeyThumbprint+"."+claims.ID)), struct{}{}, now)
	switch {
	case full:
		return nil, errTooManyProofs
	case !first:
		return bad("the proof was used before")
	}
	return header, nil
}

// isTarget compares the claim htu with the address of the request, as the client has it: what is in front of this server may have another scheme and host for it, but has to leave
// the path as it is.
func (d *dpopVerifier) isTarget(htu string, r *http.Request) bool {
	u, err := url.Parse(htu)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if absolute, err := url.Parse(path); err == nil && absolute.IsAbs() {
		path = absolute.EscapedPath()
	}
	return strings.EqualFold(u.Scheme, d.origin.Scheme) && hostPort(u) == hostPort(d.origin) && nonEmptyPath(u.EscapedPath()) == nonEmptyPath(path)
}

// hostPort returns the host in lower case, with the port that it has or that goes without saying.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "https"):
		port = "443"
	default:
		port = "80"
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

func nonEmptyPath(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// checkNonce refuses a nonce that is not of now, with a header that has the one that is. One that will soon not be good any more is good, and has that header too (RFC 9449,
// section 8.2).
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
