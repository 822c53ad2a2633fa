// Package jose has what OAuth needs of JSON Object Signing: keys as JWK (RFC 7517, 7518, 8037), signed tokens in the compact form of JWS (RFC 7515), the claims
// of a JWT (RFC 7519), and thumbprints of keys (RFC 7638).
//
//	set, err := jose.ParseKeySet(document)
//	token, err := jose.Parse(text)
//	for _, key := range set.Candidates(token.Header.KeyID, token.Header.Algorithm) {
//		payload, err := token.Verify(key, jose.ES256, jose.RS256)
//	}
//
// There are only signatures with a private key. Neither "none" nor a shared secret can be expressed, and a payload can only be had by verifying it. What a token says of
// its algorithm is compared, never obeyed: the key and the caller say which ones there are, and a token with another is refused. Where a token says a key may be found,
// nobody looks.
//
// JSON is read to the letter: no key twice, and none in another case. Everything has a limit that holds before anything is decoded.
package jose

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// An Algorithm makes signatures (RFC 7518, section 3.1, and RFC 8037, section 3.1).
type Algorithm string

const (
	ES256 Algorithm = "ES256" // ECDSA on P-256
	RS256 Algorithm = "RS256" // RSA, PKCS #1 v1.5
	PS256 Algorithm = "PS256" // RSA, PSS
	EdDSA Algorithm = "EdDSA" // Ed25519
)

const (
	// MaxToken is how many bytes a token may have.
	MaxToken = 16 << 10
	// MaxKeySet is how many bytes a set of keys may have.
	MaxKeySet = 256 << 10

	maxHeader = 6 << 10 // bytes of a token's header, as it is sent
	maxKey    = 16 << 10
	maxKeys   = 100 // in a set
	maxKeyID  = 256 // bytes
	maxTry    = 4   // keys that a token is worth trying

	minRSA, maxRSA = 2048, 8192 // bits
)

var (
	// ErrMalformed is the cause of an error for what is no token, key or set of keys in the forms that are spoken here.
	ErrMalformed = errors.New("malformed")
	// ErrAlgorithm is the cause of an error for a token whose algorithm is not one that the key and the caller have in common.
	ErrAlgorithm = errors.New("the algorithm is not allowed")
	// ErrSignature is the cause of an error for a token that the key has not signed.
	ErrSignature = errors.New("the signature is not by this key")
)

func malformed(what, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", what, ErrMalformed, fmt.Sprintf(format, args...))
}

// codec reads and writes headers, claims and keys. It keeps the claims that have no field.
var codec = jsonexact.NewMessages(jsonexact.Union{})

var encoding = base64.RawURLEncoding.Strict()

// decode decodes base64url without padding, in its one form: the package base64 would skip line breaks.
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
