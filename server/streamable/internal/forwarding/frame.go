// Package forwarding passes HTTP requests from one replica to another: the sealed frame that says
// who asks for what, the frames that were seen before, where requests of a session go, and the
// request itself.
package forwarding

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Header is the header of a forwarded request that has the sealed frame, and of the response that
// has the mark of who opened it.
const Header = "Stdwire-Forwarded"

// maxFrame is the length of the longest sealed frame, in bytes. A server accepts headers of 64 KiB.
const maxFrame = 56 << 10

var (
	// ErrTooLarge is the error for a frame that does not fit into a header.
	ErrTooLarge = errors.New("the headers and the identity of the request are too large")
	// ErrForged is the error for a frame that was not sealed for this replica.
	ErrForged = errors.New("the frame was not sealed for this server by one with the same secret")
)

// A Frame is what one replica tells another of a request: everything but the body.
type Frame struct {
	From     string `json:"from"`     // the replica that sends it
	Sequence uint64 `json:"sequence"` // another one for each frame of From
	Made     int64  `json:"made"`     // when, by the clock of the store, in microseconds
	Fence    int64  `json:"fence"`    // of the lease by which the receiver owns the session

	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Session string      `json:"session"`
	Header  http.Header `json:"header"` // those that the receiver needs
	Digest  []byte      `json:"digest"` // of the body

	Principal string    `json:"principal"`
	Values    []byte    `json:"values,omitempty"` // what else is known of the caller
	Expires   time.Time `json:"expires,omitzero"` // his credentials
	// Attempt is how many have failed. Of a call, the sender has their claims.
	Attempt int `json:"attempt,omitempty"`
}

// Digest returns the digest of a body.
func Digest(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:]
}

// A Sealer seals frames with a secret of all replicas, so that nobody else can make or read one.
type Sealer struct{ key, marks []byte }

// NewSealer returns the sealer for a secret.
func NewSealer(secret []byte) (Sealer, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "stdwire forwarded requests 1", 32)
	if err != nil {
		return Sealer{}, err
	}
	marks, err := hkdf.Key(sha256.New, secret, nil, "stdwire forwarded responses 1", 32)
	return Sealer{key, marks}, err
}

// Mark returns the value of the header with which the response to a sealed frame shows that it is
// not one of another program, which may have the address by now.
func (s Sealer) Mark(sealed string) string {
	h := hmac.New(sha256.New, s.marks)
	_, _ = h.Write([]byte(sealed))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// IsMarked reports whether a response has the mark of the frame.
func (s Sealer) IsMarked(res *http.Response, sealed string) bool {
	return hmac.Equal([]byte(res.Header.Get(Header)), []byte(s.Mark(sealed)))
}

// aead has a key of its own for each receiver, so that no key seals too many frames.
func (s Sealer) aead(receiver string) (cipher.AEAD, error) {
	h := hmac.New(sha256.New, s.key)
	_, _ = h.Write([]byte(receiver))
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal returns a frame as the value of the header, which only the receiver accepts.
func (s Sealer) Seal(receiver string, f *Frame) (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	aead, err := s.aead(receiver)
	if err != nil {
		return "", err
	}
	sealed := aead.Seal(nil, nil, text, nil)
	if base64.RawURLEncoding.EncodedLen(len(sealed)) > maxFrame {
		return "", ErrTooLarge
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open returns the frame that was sealed for the receiver. The error is ErrForged if none was.
func (s Sealer) Open(receiver, text string) (*Frame, error) {
	if len(text) > maxFrame {
		return nil, ErrForged
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, ErrForged
	}
	aead, err := s.aead(receiver)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, ErrForged
	}
	f := new(Frame)
	if err := json.Unmarshal(plain, f); err != nil {
		return nil, fmt.Errorf("the frame is of another version of this program: %w", err)
	}
	return f, nil
}
