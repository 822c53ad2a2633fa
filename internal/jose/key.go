package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Key is a public key that verifies signatures: RSA of 2048 to 8192 bits, ECDSA on P-256, or
// Ed25519. It is safe for concurrent use.
type Key struct {
	ID         string // "" if it has none
	public     crypto.PublicKey
	algorithms []Algorithm // allowed algorithms
	jwk        jwk
}

// A jwk is a key in the format of RFC 7517. Private members are only detected.
type jwk struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use,omitempty"`
	Operations []string `json:"key_ops,omitempty"`
	Algorithm  string   `json:"alg,omitempty"`
	ID         string   `json:"kid,omitempty"`
	Curve      string   `json:"crv,omitempty"`
	N          string   `json:"n,omitempty"`
	E          string   `json:"e,omitempty"`
	X          string   `json:"x,omitempty"`
	Y          string   `json:"y,omitempty"`
}

// secrets are the members of private and symmetric keys.
type secrets struct {
	D   json.RawMessage `json:"d"`
	P   json.RawMessage `json:"p"`
	Q   json.RawMessage `json:"q"`
	DP  json.RawMessage `json:"dp"`
	DQ  json.RawMessage `json:"dq"`
	QI  json.RawMessage `json:"qi"`
	Oth json.RawMessage `json:"oth"`
	K   json.RawMessage `json:"k"`
}

// NewKey returns the key for a [*rsa.PublicKey], [*ecdsa.PublicKey] or [ed25519.PublicKey]. An RSA
// key allows both RS256 and PS256.
func NewKey(public crypto.PublicKey) (*Key, error) {
	switch public := public.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSA || bits > maxRSA {
			return nil, malformed("key", "it has %d bits; want %d to %d", bits, minRSA, maxRSA)
		}
		if public.E < 3 || public.E%2 == 0 || public.N.Bit(0) == 0 {
			return nil, malformed("key", "it is no RSA key")
		}
		j := jwk{Type: "RSA", N: encoding.EncodeToString(public.N.Bytes()),
			E: encoding.EncodeToString(big.NewInt(int64(public.E)).Bytes())}
		return &Key{public: public, algorithms: []Algorithm{RS256, PS256}, jwk: j}, nil
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil || public.Curve != elliptic.P256() {
			return nil, malformed("key", "the point is not on P-256")
		}
		j := jwk{Type: "EC", Curve: "P-256", X: encoding.EncodeToString(point[1:33]),
			Y: encoding.EncodeToString(point[33:])}
		return &Key{public: public, algorithms: []Algorithm{ES256}, jwk: j}, nil
	case ed25519.PublicKey:
		if len(public) != ed25519.PublicKeySize {
			return nil, malformed("key", "it has %d bytes; want %d", len(public),
				ed25519.PublicKeySize)
		}
		return &Key{public: public, algorithms: []Algorithm{EdDSA},
			jwk: jwk{Type: "OKP", Curve: "Ed25519", X: encoding.EncodeToString(public)}}, nil
	}
	return nil, malformed("key", "a %T is not supported", public)
}

// ParseKey parses a public key. The error matches [ErrMalformed], also for keys of other types,
// keys that are not for signatures, and private keys.
func ParseKey(text []byte) (*Key, error) {
	if len(text) > maxKey {
		return nil, malformed("key", "it has more than %d bytes", maxKey)
	}
	var j struct {
		jwk
		secrets
	}
	if err := jsonexact.Unmarshal(text, &j); err != nil {
		return nil, malformed("key", "%v", err)
	}
	switch {
	case len(j.ID) > maxKeyID:
		return nil, malformed("key", "its kid has more than %d bytes", maxKeyID)
	case j.secrets.any():
		return nil, malformed("key", "it is not only public")
	case j.Use != "" && j.Use != "sig",
		j.Operations != nil && !slices.Contains(j.Operations, "verify"):
		return nil, malformed("key", "it is not for signatures")
	}
	public, err := j.public()
	if err != nil {
		return nil, malformed("key", "%v", err)
	}
	key, err := NewKey(public)
	if err != nil {
		return nil, err
	}
	key.ID, key.jwk.ID = j.ID, j.ID
	if j.Algorithm != "" {
		only := Algorithm(j.Algorithm)
		if !slices.Contains(key.algorithms, only) {
			return nil, malformed("key", "its alg is not one that a key of this type has here")
		}
		key.algorithms, key.jwk.Algorithm = []Algorithm{only}, j.Algorithm
	}
	return key, nil
}

func (s *secrets) any() bool {
	for _, member := range [...]json.RawMessage{s.D, s.P, s.Q, s.DP, s.DQ, s.QI, s.Oth, s.K} {
		if member != nil {
			return true
		}
	}
	return false
}

func (j *jwk) public() (crypto.PublicKey, error) {
	switch {
	case j.Type == "RSA":
		n, err := decode(j.N)
		if err != nil || len(n) > maxRSA/8+1 { // some implementations write a leading zero
			return nil, errors.New("n is not a modulus of 2048 to 8192 bits")
		}
		e, err := decode(j.E)
		if err != nil || len(e) > 4 {
			return nil, errors.New("e is not an exponent of at most 4 bytes")
		}
		exponent := new(big.Int).SetBytes(e).Int64()
		if exponent > 1<<31-1 {
			return nil, errors.New("e is too large")
		}
		return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent)}, nil
	case j.Type == "EC" && j.Curve == "P-256":
		x, err1 := decode(j.X)
		y, err2 := decode(j.Y)
		if err1 != nil || err2 != nil || len(x) != 32 || len(y) != 32 {
			return nil, errors.New("x and y do not have 32 bytes")
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(),
			slices.Concat([]byte{4}, x, y))
		if err != nil {
			return nil, errors.New("the point is not on P-256")
		}
		return public, nil
	case j.Type == "OKP" && j.Curve == "Ed25519":
		x, err := decode(j.X)
		if err != nil {
			return nil, fmt.Errorf("x is %w", err)
		}
		return ed25519.PublicKey(x), nil
	}
	return nil, errors.New(
		"the type is not supported; want RSA, EC with P-256, or OKP with Ed25519")
}

// MarshalJSON implements [json.Marshaler]: the key as a JWK.
func (k *Key) MarshalJSON() ([]byte, error) { return jsonexact.Marshal(k.jwk) }

// UnmarshalJSON implements [json.Unmarshaler] by [ParseKey].
func (k *Key) UnmarshalJSON(text []byte) error {
	parsed, err := ParseKey(text)
	if err == nil {
		*k = *parsed
	}
	return err
}

// WithID returns the key with that key id.
func (k *Key) WithID(id string) *Key {
	named := *k
	named.ID, named.jwk.ID = id, id
	return &named
}

// Thumbprint returns the SHA-256 thumbprint of the key in base64url (RFC 7638, and RFC 8037,
// section 2).
func (k *Key) Thumbprint() string {
	var text string
	switch j := &k.jwk; j.Type { // all values are base64url or words that need no escape
	case "RSA":
		text = `{"e":"` + j.E + `","kty":"RSA","n":"` + j.N + `"}`
	case "EC":
		text = `{"crv":"P-256","kty":"EC","x":"` + j.X + `","y":"` + j.Y + `"}`
	case "OKP":
		text = `{"crv":"Ed25519","kty":"OKP","x":"` + j.X + `"}`
	}
	sum := sha256.Sum256([]byte(text))
	return encoding.EncodeToString(sum[:])
}
