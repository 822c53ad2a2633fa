package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// requestState is what a modern server wants to know again when the client sends a request a second time (2026-07-28,
// basic/patterns/mrtr). It goes through the client's hands, so it is sealed, and bound to whom and to what request it was given.
type requestState struct {
	Expires      int64                      `json:"e"` // Unix time, seconds
	Questions    map[string][]byte          `json:"q"` // digests of the questions that were open, by their key
	Answers      map[string]json.RawMessage `json:"a,omitempty"`
	HandlerState string                     `json:"s,omitempty"` // of [RequireInput]
}

const (
	stateLifetime = 15 * time.Minute // a person has to answer in between
	maxState      = 256 << 10        // bytes, sealed
)

var errState = errors.New("requestState is none of this server's for this request, or too old; make the request anew, without it")

// A sealer encrypts and authenticates request states. It is safe for concurrent use.
type sealer struct{ aead cipher.AEAD }

// newSealer takes a secret of any length; nil for a random one.
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
	panic("server: cannot make a key: " + err.Error()) // lengths are right
}

// seal returns a state as text. binding is what has to be the same when it comes back.
func (s sealer) seal(state requestState, binding []byte) (string, error) {
	state.Expires = time.Now().Add(stateLifetime).Unix()
	plain, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	text := s.sealText(plain, binding)
	if len(text) > maxState {
		return "", errors.New("what the client has answered so far is too large to be carried along")
	}
	return text, nil
}

// open is the reverse of seal. Whatever is wrong, the error is errState.
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

// sealText encrypts bytes, as text of letters, digits, '-' and '_'.
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
