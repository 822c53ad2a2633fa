package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// BenchmarkVerify is a token of a usual size from text to claims, beside the check of its signature alone.
func BenchmarkVerify(b *testing.B) {
	now := time.Now()
	claims := Claims{
		Issuer: "https://auth.example.com/tenant", Subject: "248289761001", Audience: Audience{"https://mcp.example.com/mcp"}, ID: "8f3a7c2e-1b5d-4e6f",
		Expires: NumericDate{now.Add(time.Hour)}, IssuedAt: NumericDate{now}, NotBefore: NumericDate{now},
		Others: jsonexact.Extra{"scope": []byte(`"files:read files:write"`), "client_id": []byte(`"https://app.example.com/client.json"`)},
	}
	for _, alg := range all {
		s := signer(b, alg)
		text := sign(b, s, Header{Type: "at+jwt", KeyID: "key-2026-11"}, claims)
		at := strings.LastIndexByte(text, '.')
		signed := []byte(text[:at])
		signature, _ := decode(text[at+1:])
		b.Run(string(alg)+"/bare", func(b *testing.B) {
			check := bare(s.Key(), alg, signed, signature)
			for b.Loop() {
				if !check() {
					b.Fatal("not verified")
				}
			}
		})
		b.Run(string(alg)+"/token", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				token, err := Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				payload, err := token.Verify(s.Key(), all...)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ParseClaims(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bare is what the standard library has for a signature.
func bare(key *Key, alg Algorithm, signed, signature []byte) func() bool {
	switch alg {
	case EdDSA:
		return func() bool { return ed25519.Verify(key.public.(ed25519.PublicKey), signed, signature) }
	case ES256:
		der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])})
		if err != nil {
			panic(fmt.Sprint(err))
		}
		return func() bool {
			sum := sha256.Sum256(signed)
			return ecdsa.VerifyASN1(key.public.(*ecdsa.PublicKey), sum[:], der)
		}
	case RS256:
		return func() bool {
			sum := sha256.Sum256(signed)
			return rsa.VerifyPKCS1v15(key.public.(*rsa.PublicKey), crypto.SHA256, sum[:], signature) == nil
		}
	}
	return func() bool {
		sum := sha256.Sum256(signed)
		return rsa.VerifyPSS(key.public.(*rsa.PublicKey), crypto.SHA256, sum[:], signature, &pss) == nil
	}
}
