package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// MinKey is the least size of the secret that seals logins, in bytes.
const MinKey = 32

// ErrKey is matched by the error for a login that another secret has sealed, or that was sealed for
// another user, client or server.
var ErrKey = errors.New("sealed with another key, or for somebody else")

// A sealer hides the tokens of logins. A login is opened only beside the [Login] for which it was
// sealed, so that whoever writes the file cannot give one user what another one was granted. It
// cannot know that somebody has put back an older file.
type sealer struct {
	id      string // of the secret, which does not reveal it
	aead    cipher.AEAD
	cookies []byte // the key of the digests in cookies
}

func newSealer(secret []byte) (*sealer, error) {
	if len(secret) < MinKey {
		return nil, fmt.Errorf("the key has fewer than %d bytes", MinKey)
	}
	var keys [3][]byte
	for i, use := range []string{"values", "cookies", "name"} {
		var err error
		if keys[i], err = hkdf.Key(sha256.New, secret, nil, "stdwire logins 1 "+use, 32); err != nil {
			return nil, err
		}
	}
	block, err := aes.NewCipher(keys[0])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{hex.EncodeToString(keys[2][:6]), aead, keys[1]}, err
}

// seal returns the row of a login with its tokens.
func (s *sealer) seal(l Login, c *auth.Credentials) (*row, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	r := &row{Login: l, Key: s.id, Sealed: s.aead.Seal(nil, nil, text, data)}
	if len(r.Sealed) > maxSealed {
		return nil, fmt.Errorf("a login of %d bytes is over the limit of %d", len(r.Sealed),
			maxSealed)
	}
	return r, nil
}

// open returns the tokens of a row. The error says nothing of its content.
func (s *sealer) open(r *row) (*auth.Credentials, error) {
	data, err := json.Marshal(r.Login)
	if err != nil {
		return nil, err
	}
	text, err := s.aead.Open(nil, nil, r.Sealed, data)
	c := new(auth.Credentials)
	if err != nil || jsonexact.Unmarshal(text, c) != nil {
		return nil, fmt.Errorf("the login of %.100q at %.100q cannot be opened: it is %w", r.User,
			r.Server, ErrKey)
	}
	return c, nil
}

// digest returns a digest that only the holder of the secret can make.
func (s *sealer) digest(texts ...string) string {
	d := hmac.New(sha256.New, s.cookies)
	for _, text := range texts {
		fmt.Fprintf(d, "%d %s", len(text), text)
	}
	return hex.EncodeToString(d.Sum(nil)[:16])
}
