// Package jose has the parts of JSON Object Signing that OAuth needs: keys as JWK (RFC 7517, 7518,
// 8037), signed tokens in the compact form of JWS (RFC 7515), the claims of a JWT (RFC 7519), and
// thumbprints of keys (RFC 7638).
//
//	set, err := jose.ParseKeySet(document)
//	token, err := jose.Parse(text)
//	for _, key := range set.Candidates(token.Header.KeyID, token.Header.Algorithm) {
//		payload, err := token.Verify(key, jose.ES256, jose.RS256)
//	}
//
// Signatures are made with a private key only: there is no "none" and no shared secret. Only Verify
// returns the payload of a token. The algorithm in a token is not trusted: the key and the caller
// determine the allowed ones, and a token with another one is rejected. Keys or URLs of keys in a
// token are not used.
//
// JSON is decoded strictly: no key may occur twice, and keys are case-sensitive. All sizes are
// limited before anything is decoded.
package jose

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// An Algorithm is a signature algorithm (RFC 7518, section 3.1, and RFC 8037, section 3.1).
type Algorithm string

const (
	ES256 Algorithm = "ES256" // ECDSA on P-256
	RS256 Algorithm = "RS256" // RSA, PKCS #1 v1.5
	PS256 Algorithm = "PS256" // RSA, PSS
	EdDSA Algorithm = "EdDSA" // Ed25519
)

const (
	// MaxToken is the maximal size of a token in bytes.
	MaxToken = 16 << 10
	// MaxKeySet is the maximal size of a key set in bytes.
	MaxKeySet = 256 << 10

	maxHeader = 6 << 10 // encoded
	maxKey    = 16 << 10
	maxKeys   = 100 // in a set
	maxKeyID  = 256 // bytes
	maxTry    = 4   // keys to try per token

	minRSA, maxRSA = 2048, 8192 // bits
)

var (
	// ErrMalformed is the cause of an error for an invalid or unsupported token, key or key set.
	ErrMalformed = errors.New("malformed")
	// ErrAlgorithm is the cause of an error for a token whose algorithm the key or the caller does
	// not allow.
	ErrAlgorithm = errors.New("the algorithm is not allowed")
	// ErrSignature is the cause of an error for a token that was not signed by the key.
	ErrSignature = errors.New("the signature is not by this key")
)

func malformed(what, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", what, ErrMalformed, fmt.Sprintf(format, args...))
}

// codec encodes and decodes headers, claims and keys. It keeps unknown claims.
var codec = jsonexact.NewMessages(jsonexact.Union{})

var encoding = base64.RawURLEncoding.Strict()

// decode decodes base64url without padding, in canonical form only. Package base64 alone would skip
// line breaks.
func decode(text string) ([]byte, error) {
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\n') >= 0 {
		return nil, errors.New("not base64url")
	}
	b, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64url")
	}
	return b, nil
}
