package jose

import (
	"encoding/json"
	"testing"
)

func FuzzToken(f *testing.F) {
	s := signer(f, ES256)
	f.Add(sign(f, s, Header{Type: "dpop+jwt", Key: s.Key()}, map[string]any{"jti": "x"}))
	f.Add(sign(f, s, Header{KeyID: "k"}, Claims{Issuer: "a", Audience: Audience{"b"}}))
	f.Add(unsigned(`{"alg":"none"}`, `{}`))
	f.Add(unsigned(`{"alg":"ES256","crit":[]}`, `{}`))
	f.Add("..")
	stranger := signer(f, ES256).Key()
	f.Fuzz(func(t *testing.T, text string) {
		token, err := Parse(text)
		if err != nil {
			return
		}
		if _, err := token.Verify(stranger, all...); err == nil {
			t.Fatalf("nobody has signed %q", text)
		}
		payload, err := token.Verify(s.Key(), all...)
		if err != nil {
			return
		}
		if claims, err := ParseClaims(payload); err == nil && !json.Valid(payload) {
			t.Fatalf("%q has claims %v", payload, claims)
		}
	})
}

func FuzzKeySet(f *testing.F) {
	f.Add([]byte(`{"keys":[` + rfc7638 + `]}`))
	f.Add([]byte(`{"keys":[` + jwkOf(f, signer(f, ES256).Key()) + `,` +
		jwkOf(f, signer(f, EdDSA).Key()) + `,{"kty":"oct"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := ParseKeySet(text)
		if err != nil {
			return
		}
		for _, key := range set.keys { // each comes back as the same
			jwk, err := key.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			back, err := ParseKey(jwk)
			if err != nil || back.Thumbprint() != key.Thumbprint() || len(key.Thumbprint()) != 43 {
				t.Fatalf("%s: %v", jwk, err)
			}
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"iss":"a","aud":["b"],"exp":1.5,"x":{"y":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseClaims(text)
		if err != nil {
			return
		}
		again, err := codec.Append(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseClaims(again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
	})
}
