// Package sealed encrypts what a client carries for the server: the state of a request that ends
// with questions, and the session of a replicated connection.
package sealed

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

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Sealer encrypts and authenticates values as text of letters, digits, '-' and '_'. A value can
// be opened only with the binding with which it was sealed. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// Lazy returns a function that makes the sealer for a secret when it is first called, so that a
// server starts sooner.
func Lazy(secret []byte) func() Sealer {
	secret = bytes.Clone(secret)
	return sync.OnceValue(func() Sealer { return New(secret) })
}

// New returns a sealer for a secret of any length. A nil secret stands for a random one.
func New(secret []byte) Sealer {
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
				return Sealer{aead}
			}
		}
	}
	panic("server: cannot make a key: " + err.Error()) // impossible: the length of the key is valid
}

func (s Sealer) seal(value any, binding []byte) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, binding)), nil
}

// open stores a value that seal has encrypted, and reports whether that is possible.
func (s Sealer) open(text string, binding []byte, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := s.aead.Open(nil, nil, sealed, binding)
	return err == nil && json.Unmarshal(plain, value) == nil
}

// ErrSession is the error for a session that cannot be continued.
var ErrSession = errors.New(
	"server: the client's session was opened by none of these servers, or too long ago")

// A session is the session of a replicated connection.
type session struct {
	Expires  int64        `json:"e"` // Unix time, seconds
	Revision mcp.Revision `json:"r"`
}

// Session encrypts the session of a client of this revision.
func (s Sealer) Session(revision mcp.Revision, lifetime time.Duration,
	binding []byte) (string, error) {
	return s.seal(session{time.Now().Add(lifetime).Unix(), revision}, binding)
}

// OpenSession returns the revision of the client of an encrypted session.
func (s Sealer) OpenSession(text string, binding []byte) (mcp.Revision, error) {
	var opened session
	if !s.open(text, binding, &opened) || time.Now().Unix() >= opened.Expires {
		return "", ErrSession
	}
	return opened.Revision, nil
}
