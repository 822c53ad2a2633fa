package jose

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

var all = []Algorithm{ES256, RS256, PS256, EdDSA}

func TestSignedIsVerified(t *testing.T) {
	for _, alg := range all {
		t.Run(string(alg), func(t *testing.T) {
			s := signer(t, alg)
			text := sign(t, s, Header{Type: "at+jwt", KeyID: "k1", Algorithm: "none"},
				map[string]any{"sub": "a<b"})
			token, err := Parse(text)
			assert.NilError(t, err)
			assert.DeepEqual(t, token.Header, Header{Algorithm: alg, Type: "at+jwt", KeyID: "k1"})
			payload, err := token.Verify(s.Key(), alg)
			assert.NilError(t, err)
			assert.Equal(t, string(payload), `{"sub":"a<b"}`)

			_, err = token.Verify(s.Key(),
				slices.DeleteFunc(slices.Clone(all), func(a Algorithm) bool {
					return a == alg
				})...)
			assert.ErrorIs(t, err, ErrAlgorithm)
			_, err = token.Verify(s.Key())
			assert.ErrorIs(t, err, ErrAlgorithm)
			if alg == ES256 || alg == EdDSA {
				_, err = token.Verify(signer(t, alg).Key(), alg)
				assert.ErrorIs(t, err, ErrSignature)
			}
			for i := range text { // whatever is changed, it is no such token any more
				changed := []byte(text)
				changed[i] ^= 1
				_, err := verify(string(changed), s.Key(), all...)
				assert.Assert(t, err != nil, "%d", i)
			}
		})
	}
}

// The algorithm in a token is not trusted.
func TestAlgorithmConfusion(t *testing.T) {
	rs, es, ed := signer(t, RS256), signer(t, ES256), signer(t, EdDSA)
	keys := []*Key{rs.Key(), es.Key(), ed.Key()}

	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512",
		"RS384", "RS512", "ES384", "ES512", "PS384", "es256", "ES256K", "dir"} {
		for _, key := range keys {
			text := unsigned(`{"alg":"`+alg+`"}`, `{"sub":"x"}`)
			_, err := verify(text, key, all...)
			assert.ErrorIs(t, err, ErrAlgorithm, alg)
			// The caller's list cannot allow them either.
			_, err = verify(text, key, Algorithm(alg))
			assert.ErrorIs(t, err, ErrAlgorithm, alg)
			bare := text[:strings.LastIndexByte(text, '.')+1]
			_, err = verify(bare, key, Algorithm(alg))
			assert.ErrorIs(t, err, ErrAlgorithm, alg)
		}
	}

	// The public key as HMAC secret, in its usual formats.
	der, err := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
	assert.NilError(t, err)
	for _, secret := range [][]byte{der,
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), rsaKey().N.Bytes(),
		[]byte(jwkOf(t, rs.Key()))} {
		for _, alg := range []string{"HS256", "RS256"} {
			signed := encoding.EncodeToString([]byte(`{"alg":"`+alg+`"}`)) + "." +
				encoding.EncodeToString([]byte(`{"sub":"x"}`))
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(signed))
			_, err := verify(signed+"."+encoding.EncodeToString(mac.Sum(nil)), rs.Key(), all...)
			assert.Assert(t, err != nil)
		}
	}

	// A token with the name of another algorithm, and one with a key of another type.
	for _, from := range []*Signer{rs, es, ed} {
		text := sign(t, from, Header{}, map[string]any{"sub": "x"})
		_, rest, _ := strings.Cut(text, ".")
		for _, alg := range all {
			if alg == from.Algorithm() {
				continue
			}
			renamed := encoding.EncodeToString([]byte(`{"alg":"`+string(alg)+`"}`)) + "." + rest
			for _, key := range keys {
				_, err := verify(renamed, key, all...)
				assert.Assert(t, err != nil, "%s as %s", from.Algorithm(), alg)
			}
		}
		for _, key := range keys {
			if key != from.Key() {
				_, err := verify(text, key, all...)
				assert.ErrorIs(t, err, ErrAlgorithm)
			}
		}
	}

	// An RSA key with an algorithm allows no other.
	pinned, err := ParseKey([]byte(with(jwkOf(t, rs.Key()), `"alg":"PS256"`)))
	assert.NilError(t, err)
	_, err = verify(sign(t, rs, Header{}, 1), pinned, all...)
	assert.ErrorIs(t, err, ErrAlgorithm)
	_, err = verify(sign(t, signer(t, PS256), Header{}, 1), pinned, all...)
	assert.NilError(t, err)
}

// The key in the header of a token is not used for verification, unless the caller wants that.
func TestKeysInHeadersAreNotUsed(t *testing.T) {
	own, stranger := signer(t, ES256), signer(t, ES256)
	text := sign(t, stranger, Header{Key: stranger.Key()}, map[string]any{})
	_, err := verify(text, own.Key(), ES256)
	assert.ErrorIs(t, err, ErrSignature)
}

func TestMalformedTokens(t *testing.T) {
	key := signer(t, ES256).Key()
	good := sign(t, signer(t, ES256), Header{}, map[string]any{})
	head, rest, _ := strings.Cut(good, ".")
	header := func(text string) string { return encoding.EncodeToString([]byte(text)) + "." + rest }
	for name, tc := range map[string]struct{ text, reason string }{
		"empty":                {"", "three parts"},
		"two parts":            {head + "." + head, "three parts"},
		"four parts":           {good + ".x", "three parts"},
		"encrypted":            {"a.b.c.d.e", "three parts"},
		"JSON":                 {`{"payload":"","signatures":[]}`, "three parts"},
		"padding":              {head + "=." + rest, "base64url"},
		"standard alphabet":    {"ab+/." + rest, "base64url"},
		"line break":           {head[:4] + "\n" + head[4:] + "." + rest, "base64url"},
		"bits that nobody has": {"eyJhbGciOiJFUzI1NiJ8." + rest, "JSON"},
		"no object":            {header(`"ES256"`), "JSON"},
		"not JSON":             {header(`{"alg":"ES256"`), "JSON"},
		"text behind":          {header(`{"alg":"ES256"}{}`), "JSON"},
		"alg twice":            {header(`{"alg":"none","alg":"ES256"}`), "JSON"},
		"unknown twice":        {header(`{"alg":"ES256","x":1,"x":2}`), "JSON"},
		"alg of another type":  {header(`{"alg":["ES256"]}`), "JSON"},
		"not UTF-8":            {header("{\"alg\":\"ES256\",\"kid\":\"\xff\"}"), "JSON"},
		"crit":                 {header(`{"alg":"ES256","crit":["exp"],"exp":1}`), "critical"},
		"crit, empty":          {header(`{"alg":"ES256","crit":[]}`), "critical"},
		"crit, null":           {header(`{"alg":"ES256","crit":null}`), "critical"},
		"huge kid": {
			header(`{"alg":"ES256","kid":"` + strings.Repeat("k", maxKeyID+1) + `"}`), "kid"},
		"huge header": {header(`{"alg":"ES256","x":"` + strings.Repeat("k", maxHeader) + `"}`),
			"header has more"},
		"huge": {head + "." + strings.Repeat("A", MaxToken), "more than 16384 bytes"},
		"private jwk": {header(`{"alg":"ES256","jwk":` + with(jwkOf(t, key), `"d":"AA"`) + `}`),
			"not only public"},
		"shared jwk": {header(`{"alg":"ES256","jwk":{"kty":"oct","k":"AAAA"}}`), "not only public"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.text)
			assert.ErrorIs(t, err, ErrMalformed)
			assert.ErrorContains(t, err, tc.reason)
		})
	}
	// Names are case-sensitive.
	_, err := verify(header(`{"ALG":"ES256"}`), key, all...)
	assert.ErrorIs(t, err, ErrAlgorithm)
	// The payload is decoded only after verification.
	s := signer(t, ES256)
	signature, err := s.sign([]byte(head + ".a\nb"))
	assert.NilError(t, err)
	_, err = verify(head+".a\nb."+encoding.EncodeToString(signature), s.Key(), ES256)
	assert.ErrorIs(t, err, ErrMalformed)
}

// A signature on P-256 is two numbers of 32 bytes, not DER, and neither is zero.
func TestECSignatureForms(t *testing.T) {
	s := signer(t, ES256)
	text := sign(t, s, Header{}, 1)
	at := strings.LastIndexByte(text, '.') + 1
	signature, err := decode(text[at:])
	assert.NilError(t, err)
	for _, bad := range [][]byte{nil, signature[:63], append(slices.Clone(signature), 0),
		make([]byte, 64), bytes.Repeat([]byte{0xff}, 64), {0x30, 6, 2, 1, 1, 2, 1, 1}} {
		_, err := verify(text[:at]+encoding.EncodeToString(bad), s.Key(), ES256)
		assert.ErrorIs(t, err, ErrSignature)
	}
}

// Short and long numbers, and those that look negative.
func TestSignaturesAsDER(t *testing.T) {
	ones, top := bytes.Repeat([]byte{1}, 32), append([]byte{0x80}, make([]byte, 31)...)
	short := append(make([]byte, 31), 0x7f)
	for _, numbers := range [][2][]byte{{ones, top}, {top, top}, {short, ones},
		{append(make([]byte, 31), 0x80), short}, {make([]byte, 32), ones}} {
		want, err := asn1.Marshal(
			struct{ R, S *big.Int }{new(big.Int).SetBytes(numbers[0]),
				new(big.Int).SetBytes(numbers[1])})
		assert.NilError(t, err)
		assert.DeepEqual(t, asDER(slices.Concat(numbers[0], numbers[1])), want)
	}
}

func TestNewSignerErrors(t *testing.T) {
	_, err := NewSigner(rsaKey(), "")
	assert.ErrorIs(t, err, ErrAlgorithm)
	_, err = NewSigner(rsaKey(), ES256)
	assert.ErrorIs(t, err, ErrAlgorithm)
	_, err = NewSigner(otherCurve(t), "")
	assert.ErrorIs(t, err, ErrMalformed)
	s := signer(t, ES256)
	_, err = s.Sign(Header{}, strings.Repeat("x", MaxToken))
	assert.ErrorIs(t, err, ErrMalformed)
	_, err = s.Sign(Header{}, make(chan int))
	assert.Assert(t, err != nil)
}
