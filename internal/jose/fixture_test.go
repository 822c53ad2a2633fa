package jose

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// rsaKey is shared by all tests, because generating it takes long.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		panic(err)
	}
	return key
})

// signer returns a signer with a new key, or the shared RSA key.
func signer(t testing.TB, alg Algorithm) *Signer {
	t.Helper()
	switch alg {
	case RS256, PS256:
		s, err := NewSigner(rsaKey(), alg)
		assert.NilError(t, err)
		return s
	case EdDSA:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		assert.NilError(t, err)
		s, err := NewSigner(private, alg)
		assert.NilError(t, err)
		return s
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	s, err := NewSigner(private, ES256)
	assert.NilError(t, err)
	return s
}

func sign(t testing.TB, s *Signer, header Header, claims any) string {
	t.Helper()
	token, err := s.Sign(header, claims)
	assert.NilError(t, err)
	return token
}

// token returns an unsigned token with this header and payload.
func unsigned(header, payload string) string {
	return encoding.EncodeToString([]byte(header)) + "." +
		encoding.EncodeToString([]byte(payload)) + "." + encoding.EncodeToString(make([]byte, 64))
}

func verify(text string, key *Key, allowed ...Algorithm) (string, error) {
	token, err := Parse(text)
	if err != nil {
		return "", err
	}
	payload, err := token.Verify(key, allowed...)
	return string(payload), err
}

func jwkOf(t testing.TB, key *Key) string {
	t.Helper()
	text, err := key.MarshalJSON()
	assert.NilError(t, err)
	return string(text)
}

// otherCurve is a key on an unsupported curve.
func otherCurve(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	assert.NilError(t, err)
	return key
}

// with adds a member to a JSON object.
func with(object, member string) string {
	return strings.TrimSuffix(object, "}") + "," + member + "}"
}
