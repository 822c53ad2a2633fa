package server

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// A requestState is the state that the server needs when a modern client repeats its request
// (2026-07-28, basic/patterns/mrtr). The client carries it, so it is encrypted, and bound to the
// principal and the request. It may be used again until it expires: the server does not record
// which states it has received.
type requestState struct {
	Expires      int64                      `json:"e"` // Unix time, seconds
	Questions    map[string][]byte          `json:"q"` // digests of the questions asked, by key
	Answers      map[string]json.RawMessage `json:"a,omitempty"`
	HandlerState string                     `json:"s,omitempty"` // the state argument of [RequireInput]
}

const (
	stateLifetime = 15 * time.Minute // enough time for a person to answer
	maxState      = 256 << 10        // bytes of the encrypted state
)

var errState = errors.New(
	"requestState was not made for this request, or has expired; repeat the request without it")

// A sealer encrypts and authenticates request states. It is safe for concurrent use.
type sealer struct{ aead cipher.AEAD }

// lazySealer returns a function that makes the sealer for a secret when it is first called, so that
// a server starts sooner.
func lazySealer(secret []byte) func() sealer {
	secret = bytes.Clone(secret)
	return sync.OnceValue(func() sealer { return newSealer(secret) })
}

// newSealer returns a sealer for a secret of any length. A nil secret stands for a random one.
func newSealer(secret []byte) sealer {
	if secret == nil {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "stdwire requestState 1", 32)
	if err == nil {
		var block cipher.Block
		if block, err = aes.NewCipher(key); err == nil {
			var aead cipher.AEAD
			if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
				return sealer{aead}
			}
		}
	}
	panic("server: cannot make a key: " + err.Error()) // impossible: the length of the key is valid
}

// seal sets the expiry of the state and encrypts it as text. open succeeds only with the same
// binding.
func (s sealer) seal(state requestState, binding []byte) (string, error) {
	state.Expires = time.Now().Add(stateLifetime).Unix()
	plain, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	text := s.sealText(plain, binding)
	if len(text) > maxState {
		return "", errors.New(
			"the client's answers are too large for requestState")
	}
	return text, nil
}

// open decrypts a state. The error is always errState, so that it reveals nothing to an attacker.
func (s sealer) open(text string, binding []byte) (state requestState, err error) {
	if len(text) > maxState {
		return state, errState
	}
	plain, err := s.openText(text, binding)
	if err != nil || json.Unmarshal(plain, &state) != nil || time.Now().Unix() >= state.Expires {
		return requestState{}, errState
	}
	return state, nil
}

// sealText encrypts plain as text of letters, digits, '-' and '_'.
func (s sealer) sealText(plain, binding []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, binding))
}

func (s sealer) openText(text string, binding []byte) (plain []byte, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return s.aead.Open(nil, nil, sealed, binding)
}
