package jose

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Header is the protected header of a token. Other members are ignored.
type Header struct {
	Algorithm Algorithm `json:"alg"`           // not trusted: see [Token.Verify]
	Type      string    `json:"typ,omitempty"` // type of the token, such as "at+jwt" or "dpop+jwt"
	KeyID     string    `json:"kid,omitempty"`
	Key       *Key      `json:"jwk,omitempty"` // not trusted: anyone may have put it there
}

// A Token is a signed token that has not been verified.
type Token struct {
	Header    Header
	signed    string // header and payload, encoded
	payload   string
	signature []byte
}

// Parse parses a token. It validates its form and its header only. The error matches [ErrMalformed]
// and never contains a part of the token.
func Parse(text string) (*Token, error) {
	if len(text) > MaxToken {
		return nil, malformed("token", "it has more than %d bytes", MaxToken)
	}
	header, rest, ok1 := strings.Cut(text, ".")
	payload, last, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 || strings.Contains(last, ".") {
		return nil, malformed("token", "it has not three parts")
	}
	if len(header) > maxHeader {
		return nil, malformed("token", "its header has more than %d bytes", maxHeader)
	}
	plain, err := decode(header)
	if err != nil {
		return nil, malformed("token", "its header is %v", err)
	}
	var h struct {
		Header
		Critical json.RawMessage `json:"crit"`
	}
	switch err := jsonexact.Unmarshal(plain, &h); {
	case errors.Is(err, ErrMalformed): // from the key in the header
		return nil, fmt.Errorf("token: %w", err)
	case err != nil:
		// err might contain a part of it
		return nil, malformed("token", "its header is not the JSON that is wanted")
	}
	switch {
	case h.Critical != nil:
		return nil, malformed("token",
			"its header has extensions that are critical, and none is known here")
	case len(h.KeyID) > maxKeyID:
		return nil, malformed("token", "its kid has more than %d bytes", maxKeyID)
	}
	t := &Token{Header: h.Header, signed: text[:len(header)+1+len(payload)], payload: payload}
	if t.signature, err = decode(last); err != nil {
		return nil, malformed("token", "its signature is %v", err)
	}
	return t, nil
}

// Verify returns the payload if the key has signed the token with one of the allowed algorithms.
// The key determines the possible ones; for an RSA key without an algorithm there are two, and the
// token selects one. The error matches [ErrAlgorithm], [ErrSignature], or [ErrMalformed] if the
// signed payload is not base64url.
func (t *Token) Verify(key *Key, allowed ...Algorithm) (payload []byte, err error) {
	alg := t.Header.Algorithm
	if !slices.Contains(key.algorithms, alg) || !slices.Contains(allowed, alg) {
		return nil, fmt.Errorf("token: %w: it has %.20q; the key allows %v, the caller %v",
			ErrAlgorithm, string(alg), key.algorithms, allowed)
	}
	if !key.verifies(alg, t.signed, t.signature) {
		return nil, fmt.Errorf("token: %w", ErrSignature)
	}
	if payload, err = decode(t.payload); err != nil {
		return nil, malformed("token", "its payload is %v", err)
	}
	return payload, nil
}

func (k *Key) verifies(alg Algorithm, signed string, signature []byte) bool {
	if alg == EdDSA {
		public, ok := k.public.(ed25519.PublicKey)
		return ok && ed25519.Verify(public, []byte(signed), signature)
	}
	sum := sha256.Sum256([]byte(signed))
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		return alg == ES256 && len(signature) == 64 &&
			ecdsa.VerifyASN1(public, sum[:], asDER(signature))
	case *rsa.PublicKey:
		switch alg {
		case RS256:
			return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) == nil
		case PS256:
			return rsa.VerifyPSS(public, crypto.SHA256, sum[:], signature, &pss) == nil
		}
	}
	return false
}

// asDER encodes the two numbers of a signature in ASN.1: positive and as short as possible.
func asDER(signature []byte) []byte {
	der := append(make([]byte, 0, 72), 0x30, 0)
	for number := range slices.Chunk(signature, len(signature)/2) {
		if number = bytes.TrimLeft(number, "\x00"); len(number) == 0 || number[0] >= 0x80 {
			number = append([]byte{0}, number...)
		}
		der = append(append(der, 0x02, byte(len(number))), number...)
	}
	der[1] = byte(len(der) - 2)
	return der
}

// pss has a salt of the length of the hash (RFC 7518, section 3.5).
var pss = rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
