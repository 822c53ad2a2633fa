package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// sealCost is how much larger a value is when it is sealed.
const sealCost = 12 + 16

// A sealer hides names and values from a server, which may not choose them either: a value is
// opened only under the name for which it was sealed. The server can still hide values and return
// older ones.
type sealer struct{ names, values []byte }

func newSealer(secret []byte) (sealer, error) {
	if len(secret) < 16 {
		return sealer{}, errors.New("store: the secret has less than 16 bytes")
	}
	names, err := hkdf.Key(sha256.New, secret, nil, "stdwire store names 1", 32)
	if err != nil {
		return sealer{}, err
	}
	values, err := hkdf.Key(sha256.New, secret, nil, "stdwire store values 1", 32)
	return sealer{names, values}, err
}

func digest(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}

// name returns what stands for a text in keys.
func (s sealer) name(text string) string {
	return base64.RawURLEncoding.EncodeToString(digest(s.names, text)[:18])
}

// aead has a key of its own for each name, so that no key seals too many values.
func (s sealer) aead(name string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(digest(s.values, name))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s sealer) seal(name string, value []byte) (string, error) {
	aead, err := s.aead(name)
	if err != nil {
		return "", err
	}
	return string(aead.Seal(nil, nil, value, []byte(name))), nil
}

// open returns a value, which is not nil.
func (s sealer) open(name string, sealed []byte) ([]byte, error) {
	aead, err := s.aead(name)
	if err != nil {
		return nil, err
	}
	value, err := aead.Open([]byte{}, nil, sealed, []byte(name))
	if err != nil {
		return nil, ErrForged
	}
	return value, nil
}
