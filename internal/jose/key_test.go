package jose

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestKeyRoundTrip(t *testing.T) {
	for _, alg := range all {
		key := signer(t, alg).Key().WithID("k")
		back, err := ParseKey([]byte(jwkOf(t, key)))
		assert.NilError(t, err)
		assert.Equal(t, back.ID, "k")
		assert.Equal(t, back.Thumbprint(), key.Thumbprint())
		assert.Equal(t, jwkOf(t, back), jwkOf(t, key))
	}
}

func TestRefusedKeys(t *testing.T) {
	ec, ed, rs := jwkOf(t, signer(t, ES256).Key()), jwkOf(t, signer(t, EdDSA).Key()),
		jwkOf(t, signer(t, RS256).Key())
	modulus := func(bits uint) string {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return encoding.EncodeToString(n.Add(n, big.NewInt(1)).Bytes())
	}
	for name, tc := range map[string]struct{ text, reason string }{
		"no JSON":          {`{`, "JSON"},
		"array":            {`[]`, "object"},
		"no type":          {`{}`, "not supported"},
		"shared":           {`{"kty":"oct","k":"AAAA"}`, "not only public"},
		"P-384":            {`{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}`, "not supported"},
		"X25519":           {strings.Replace(ed, "Ed25519", "X25519", 1), "not supported"},
		"lower case":       {strings.Replace(ec, `"EC"`, `"ec"`, 1), "not supported"},
		"private":          {with(ec, `"d":"AA"`), "not only public"},
		"private, null":    {with(rs, `"p":null`), "not only public"},
		"encryption":       {with(ec, `"use":"enc"`), "signatures"},
		"other operations": {with(ec, `"key_ops":["encrypt"]`), "signatures"},
		"other alg":        {with(ec, `"alg":"RS256"`), "alg"},
		"alg none":         {with(rs, `"alg":"none"`), "alg"},
		"alg HMAC":         {with(rs, `"alg":"HS256"`), "alg"},
		"twice":            {with(ec, `"kty":"EC"`), "twice"},
		"off the curve": {`{"kty":"EC","crv":"P-256","x":"` + strings.Repeat("A", 43) +
			`","y":"` + strings.Repeat("A", 43) + `"}`, "not on P-256"},
		"short coordinate": {`{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`, "32 bytes"},
		"short Ed25519":    {`{"kty":"OKP","crv":"Ed25519","x":"AA"}`, "want 32"},
		"RSA 1024": {`{"kty":"RSA","e":"AQAB","n":"` + modulus(1024) + `"}`,
			"1024 bits"},
		"RSA 16384": {`{"kty":"RSA","e":"AQAB","n":"` + modulus(16384) + `"}`, "modulus"},
		"RSA 8200": {`{"kty":"RSA","e":"AQAB","n":"` + modulus(8200) + `"}`,
			"8200 bits"},
		"exponent 1": {`{"kty":"RSA","e":"AQ","n":"` + modulus(2048) + `"}`, "no RSA key"},
		"even exponent": {`{"kty":"RSA","e":"AQAA","n":"` + modulus(2048) + `"}`,
			"no RSA key"},
		"huge exponent": {`{"kty":"RSA","e":"` + modulus(2048) + `","n":"` + modulus(2048) +
			`"}`, "exponent"},
		"exponent of 32 bits": {`{"kty":"RSA","e":"_____w","n":"` + modulus(2048) + `"}`,
			"too large"},
		"huge kid": {with(ec, `"kid":"`+strings.Repeat("k", maxKeyID+1)+`"`), "kid"},
		"huge":     {with(ec, `"x5c":["`+strings.Repeat("A", maxKey)+`"]`), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKey([]byte(tc.text))
			assert.ErrorIs(t, err, ErrMalformed)
			assert.ErrorContains(t, err, tc.reason)
		})
	}
	// A leading zero of the modulus does not change the key.
	leading, err := ParseKey(
		[]byte(`{"kty":"RSA","e":"AQAB","n":"` +
			encoding.EncodeToString(append([]byte{0}, rsaKey().N.Bytes()...)) + `"}`))
	assert.NilError(t, err)
	assert.Equal(t, leading.Thumbprint(), signer(t, RS256).Key().Thumbprint())
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	assert.NilError(t, err)
	_, err = NewKey(&small.PublicKey)
	assert.ErrorIs(t, err, ErrMalformed)
	_, err = NewKey("x")
	assert.ErrorIs(t, err, ErrMalformed)
}

func TestKeySets(t *testing.T) {
	a, b, c := signer(t, ES256).Key().WithID("a"), signer(t, ES256).Key().WithID("b"),
		signer(t, RS256).Key().WithID("a")
	set, err := ParseKeySet(
		fmt.Appendf(nil,
			`{"keys":[%s,%s,%s,{"kty":"oct","k":"AAAA","kid":"a"},{"kty":"new"},7,%s],"more":1}`,
			jwkOf(t, a), jwkOf(t, b), jwkOf(t, c), with(jwkOf(t, b), `"use":"enc"`)))
	assert.NilError(t, err)
	assert.Equal(t, set.Len(), 3)
	thumbs := func(id string, alg Algorithm) (all []string) {
		for _, key := range set.Candidates(id, alg) {
			all = append(all, key.Thumbprint())
		}
		return all
	}
	assert.DeepEqual(t, thumbs("a", ES256), []string{a.Thumbprint()})
	assert.DeepEqual(t, thumbs("a", PS256), []string{c.Thumbprint()})
	assert.DeepEqual(t, thumbs("", ES256), []string{a.Thumbprint(), b.Thumbprint()})
	assert.Equal(t, len(thumbs("z", ES256))+len(thumbs("a", EdDSA))+len(thumbs("a", "HS256"))+
		len(thumbs("A", ES256)), 0)

	many := func(n int) string {
		return `{"keys":[` + strings.TrimSuffix(strings.Repeat(jwkOf(t, a)+",", n), ",") + `]}`
	}
	set, err = ParseKeySet([]byte(many(maxKeys)))
	assert.NilError(t, err)
	assert.Equal(t, len(set.Candidates("", ES256)), maxTry)
	for text, reason := range map[string]string{
		many(maxKeys + 1): "the limit is 100", `{}`: "no keys", `{"keys":null}`: "no keys",
		`[]`: "object", `{"keys":{}}`: "array", `{"keys":[],"keys":[]}`: "twice",
		`{"keys":[]}` + strings.Repeat(" ", MaxKeySet): "more than",
	} {
		_, err := ParseKeySet([]byte(text))
		assert.ErrorIs(t, err, ErrMalformed)
		assert.ErrorContains(t, err, reason)
	}
	set, err = ParseKeySet([]byte(`{"keys":[]}`))
	assert.NilError(t, err)
	assert.Equal(t, set.Len(), 0)
}
