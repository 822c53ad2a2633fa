package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/server/auth"
)

const (
	authIssuer   = "https://auth.example.com/tenant"
	authAudience = "https://mcp.example.com/mcp"
)

// A signature is an access token of a typical size, signed with one algorithm, and a check of the
// signature with only the standard library, given the parsed key, hash and signature.
type signature struct {
	alg     jose.Algorithm
	private crypto.Signer
	bare    func(signed []byte, check []byte) bool
}

func signatures() ([]signature, error) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	edwards, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salted := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	return []signature{
		{jose.ES256, curve, func(signed, check []byte) bool {
			sum := sha256.Sum256(signed)
			return ecdsa.VerifyASN1(&curve.PublicKey, sum[:], check)
		}},
		{jose.RS256, large, func(signed, check []byte) bool {
			sum := sha256.Sum256(signed)
			return rsa.VerifyPKCS1v15(&large.PublicKey, crypto.SHA256, sum[:], check) == nil
		}},
		{jose.PS256, large, func(signed, check []byte) bool {
			sum := sha256.Sum256(signed)
			return rsa.VerifyPSS(&large.PublicKey, crypto.SHA256, sum[:], check, salted) == nil
		}},
		{jose.EdDSA, private, func(signed, check []byte) bool {
			return ed25519.Verify(edwards, signed, check)
		}},
	}, nil
}

// authSuite measures the verification of an access token, beside the check of its signature alone.
func authSuite(o options) ([]measure, error) {
	signatures, err := signatures()
	if err != nil {
		return nil, err
	}
	var all []measure
	for _, s := range signatures {
		token, verify, err := s.verifier()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.alg, err)
		}
		signed, check, err := s.sign(token)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.alg, err)
		}
		pair, err := measureAlternately(o.time, [2]func() error{
			func() error {
				_, err := verify(context.Background(), token)
				return err
			},
			func() error {
				if !s.bare(signed, check) {
					return errors.New("the signature does not hold")
				}
				return nil
			},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.alg, err)
		}
		for i, program := range [...]string{"stdwire", "signature alone"} {
			pair[i].what, pair[i].program = "token, "+string(s.alg), program
		}
		all = append(all, pair[:]...)
	}
	return all, nil
}

// measureAlternately measures the processor time of two functions of similar cost. It alternates
// between them in small steps, so that other load on the machine affects both.
func measureAlternately(d time.Duration, do [2]func() error) (pair [2]measure, err error) {
	const turn = 50
	var took [2]time.Duration
	turns := 0
	for ; took[0] < d || took[1] < d; turns++ {
		for i, f := range do {
			begun := cpuTime()
			for range turn {
				if err := f(); err != nil {
					return pair, err
				}
			}
			took[i] += cpuTime() - begun
		}
	}
	for i, f := range do {
		allocs := testing.AllocsPerRun(turn, func() { err = errors.Join(err, f()) })
		pair[i] = measure{value: float64(took[i].Nanoseconds()) / float64(turns*turn) / 1000,
			unit: "µs", extra: fmt.Sprintf("%.0f allocs", allocs)}
	}
	return pair, err
}

// verifier returns a token and its verifier.
func (s *signature) verifier() (token string, verify auth.Verifier, err error) {
	signer, err := jose.NewSigner(s.private, s.alg)
	if err != nil {
		return "", nil, err
	}
	now := time.Now()
	token, err = signer.Sign(jose.Header{Type: "at+jwt", KeyID: "key-2026-11"}, map[string]any{
		"iss": authIssuer, "sub": "248289761001", "aud": authAudience,
		"exp": now.Add(24 * time.Hour).Unix(), "iat": now.Unix(), "nbf": now.Unix(),
		"jti": "8f3a7c2e-1b5d-4e6f", "client_id": "https://app.example.com/client.json",
		"scope": "files:read files:write",
	})
	if err != nil {
		return "", nil, err
	}
	keys, err := json.Marshal(
		map[string]any{"keys": []*jose.Key{signer.Key().WithID("key-2026-11")}})
	if err != nil {
		return "", nil, err
	}
	verify, err = auth.JWTOptions{
		Issuer: authIssuer, Audience: authAudience, KeysURL: authIssuer + "/keys",
		Client: &http.Client{Transport: document(keys)},
	}.New()
	return token, verify, err
}

// sign signs the token's content with the standard library. check is the signature in the form that
// the standard library verifies.
func (s *signature) sign(token string) (signed, check []byte, err error) {
	signed = []byte(token[:strings.LastIndexByte(token, '.')])
	digest, options := signed, crypto.SignerOpts(crypto.Hash(0))
	if s.alg != jose.EdDSA {
		sum := sha256.Sum256(signed)
		digest, options = sum[:], crypto.SHA256
	}
	if s.alg == jose.PS256 {
		options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	}
	check, err = s.private.Sign(rand.Reader, digest, options)
	return signed, check, err
}

// A document is a transport that responds to every request with its bytes.
type document []byte

// RoundTrip implements [http.RoundTripper].
func (d document) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(string(d))), Request: r}, nil
}

// authBudgets require that verifying a token costs little more than checking its signature.
func authBudgets() (all []budget) {
	for _, alg := range []jose.Algorithm{jose.ES256, jose.RS256, jose.PS256, jose.EdDSA} {
		all = append(all, budget{"token, " + string(alg), "signature alone", 1.2})
	}
	return all
}
