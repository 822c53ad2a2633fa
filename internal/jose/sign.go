package jose

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// A Signer signs tokens. It is safe for concurrent use if its private key is.
type Signer struct {
	private crypto.Signer
	key     *Key
	alg     Algorithm
}

// NewSigner returns a signer for a private key, which may be held by another program. The algorithm
// may be "" if the key allows only one; an RSA key needs one.
func NewSigner(private crypto.Signer, alg Algorithm) (*Signer, error) {
	key, err := NewKey(private.Public())
	if err != nil {
		return nil, err
	}
	if alg == "" && len(key.algorithms) == 1 {
		alg = key.algorithms[0]
	}
	if !slices.Contains(key.algorithms, alg) {
		return nil, fmt.Errorf("key: %w: %q; want one of %v", ErrAlgorithm, string(alg),
			key.algorithms)
	}
	return &Signer{private, key, alg}, nil
}

// Key returns the public key.
func (s *Signer) Key() *Key { return s.key }

// Algorithm returns the algorithm of its signatures.
func (s *Signer) Algorithm() Algorithm { return s.alg }

// Sign returns a token. It sets the algorithm of the header and encodes claims as JSON.
func (s *Signer) Sign(header Header, claims any) (string, error) {
	header.Algorithm = s.alg
	head, err := codec.Append(nil, header)
	if err != nil {
		return "", err
	}
	payload, err := codec.Append(nil, claims)
	if err != nil {
		return "", err
	}
	text := encoding.AppendEncode(nil, head)
	text = encoding.AppendEncode(append(text, '.'), payload)
	signature, err := s.sign(text)
	if err != nil {
		return "", fmt.Errorf("signing a token with %s: %w", s.alg, err)
	}
	if text = encoding.AppendEncode(append(text, '.'), signature); len(text) > MaxToken {
		return "", malformed("token", "it has more than %d bytes", MaxToken)
	}
	return string(text), nil
}

func (s *Signer) sign(text []byte) ([]byte, error) {
	if s.alg == EdDSA {
		return s.private.Sign(rand.Reader, text, &ed25519.Options{})
	}
	sum := sha256.Sum256(text)
	switch s.alg {
	case RS256:
		return s.private.Sign(rand.Reader, sum[:], crypto.SHA256)
	case PS256:
		return s.private.Sign(rand.Reader, sum[:], &pss)
	}
	der, err := s.private.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var rs struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &rs)
	if err != nil || len(rest) > 0 || rs.R.Sign() <= 0 || rs.S.Sign() <= 0 || rs.R.BitLen() > 256 ||
		rs.S.BitLen() > 256 {
		return nil, errors.New("the private key returned an invalid P-256 signature")
	}
	signature := make([]byte, 64) // both numbers at full length (RFC 7518, section 3.4)
	rs.R.FillBytes(signature[:32])
	rs.S.FillBytes(signature[32:])
	return signature, nil
}
