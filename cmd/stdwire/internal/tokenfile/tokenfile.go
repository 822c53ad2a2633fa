// Package tokenfile has the bearer tokens with which clients of stdwire serve identify themselves:
// a file of named tokens, its changes, and a [Verifier] that follows a file of tokens.
//
// A file has the digests of tokens, not the tokens: who reads it cannot call anything. A plain
// SHA-256 is enough for that, where a password would need a slow and salted hash, because a token
// has 256 random bits, which nobody can guess at any speed; and it costs a request less than a
// microsecond.
package tokenfile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/userfile"
)

// Prefix begins every token of this package, so that scanners for secrets find it:
// stdwire_[0-9a-f]{64}.
const Prefix = "stdwire_"

// Limits of a file, and of what one token says.
const (
	maxFile   = 16 << 20 // bytes
	maxTokens = 10_000
	maxName   = 64 // bytes
	maxValues = 256
	maxText   = 1024 // bytes of a scope, a group and the name of a claim
	maxClaims = 64 << 10
)

// A Token is what a file says of a token.
type Token struct {
	Name string // the subject of its identity; unique in a file; "": the caller has no name
	// Digest is the SHA-256 of the token.
	Digest  [sha256.Size]byte
	Created time.Time // zero: unknown
	Expires time.Time // zero: never
	Scopes  []string
	Groups  []string
	Claims  map[string]json.RawMessage
}

// New returns a new token with a name, and its secret, which nothing else keeps.
func New(name string, now time.Time) (t Token, secret string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	secret = Prefix + hex.EncodeToString(random[:])
	return Token{Name: name, Digest: sha256.Sum256([]byte(secret)), Created: now.UTC().Round(0).
		Truncate(time.Second)}, secret
}

// Check returns an error if a token cannot be in a file.
func (t *Token) Check() error {
	switch {
	case !isName(t.Name):
		return fmt.Errorf("the name %.100q is not 1 to %d letters, digits and characters of ._@-",
			t.Name, maxName)
	case len(t.Scopes) > maxValues:
		return fmt.Errorf("%q has more than %d scopes", t.Name, maxValues)
	case len(t.Groups) > maxValues:
		return fmt.Errorf("%q has more than %d groups", t.Name, maxValues)
	}
	for _, scope := range t.Scopes { // RFC 6749, section 3.3
		if scope == "" || len(scope) > maxText || strings.ContainsFunc(scope, func(c rune) bool {
			return c <= ' ' || c >= 0x7f || c == '"' || c == '\\'
		}) {
			return fmt.Errorf(
				"the scope %.100q of %q is not printable ASCII without spaces, quotes and backslashes",
				scope, t.Name)
		}
	}
	for _, group := range t.Groups {
		if group == "" || len(group) > maxText {
			return fmt.Errorf("a group of %q is empty or has more than %d bytes", t.Name, maxText)
		}
	}
	size := 0
	for name, value := range t.Claims {
		if name == "" || len(name) > maxText {
			return fmt.Errorf("the name of a claim of %q is empty or has more than %d bytes",
				t.Name, maxText)
		}
		if err := jsonscan.Valid(value); err != nil {
			return fmt.Errorf("the claim %.100q of %q is not JSON: %w", name, t.Name, err)
		}
		size += len(name) + len(value)
	}
	if size > maxClaims {
		return fmt.Errorf("the claims of %q have more than %d KiB", t.Name, maxClaims>>10)
	}
	return nil
}

func isName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' ||
			strings.ContainsRune("._@-", c))
	})
}

// IsExpired reports whether a token is valid no more.
func (t *Token) IsExpired(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires)
}

// Fields of the file. Unknown ones are errors, because a misspelled limit would not limit.
type (
	file struct {
		Tokens  []entry                    `json:"tokens"`
		Refused []refusedEntry             `json:"refused,omitempty"`
		Others  map[string]json.RawMessage `json:"-" unknown:"keep"`
	}
	entry struct {
		Name    string                     `json:"name"`
		SHA256  string                     `json:"sha256"` // hexadecimal
		Created time.Time                  `json:"created,omitzero"`
		Expires time.Time                  `json:"expires,omitzero"`
		Scopes  []string                   `json:"scopes,omitempty"`
		Groups  []string                   `json:"groups,omitempty"`
		Claims  map[string]json.RawMessage `json:"claims,omitempty"`
		Others  map[string]json.RawMessage `json:"-" unknown:"keep"`
	}
)

// A Content is what a file says.
type Content struct {
	Tokens  []Token
	Refused []Refusal
}

// Parse returns the content of a file. The errors name no digest.
func Parse(text []byte) (c Content, err error) {
	var f file
	if err := jsonexact.Unmarshal(jsonscan.TrimBOM(text), &f); err != nil {
		return c, err
	}
	if err := refuseOthers("the file", f.Others, "tokens", "refused"); err != nil {
		return c, err
	}
	if c.Tokens, err = f.tokens(); err == nil {
		c.Refused, err = f.refusals()
	}
	return c, err
}

func (f *file) tokens() ([]Token, error) {
	if f.Tokens == nil {
		return nil, errors.New(`the member "tokens" is missing: it is an array`)
	}
	if len(f.Tokens) > maxTokens {
		return nil, fmt.Errorf("there are more than %d tokens", maxTokens)
	}
	all := make([]Token, 0, len(f.Tokens))
	names, digests := map[string]bool{}, map[[sha256.Size]byte]string{}
	for _, e := range f.Tokens {
		t := Token{Name: e.Name, Created: e.Created, Expires: e.Expires, Scopes: e.Scopes,
			Groups: e.Groups, Claims: e.Claims}
		if err := t.Check(); err != nil {
			return nil, err
		}
		if err := refuseOthers(fmt.Sprintf("the token %q", e.Name), e.Others, "name", "sha256",
			"created", "expires", "scopes", "groups", "claims"); err != nil {
			return nil, err
		}
		digest, err := hex.DecodeString(e.SHA256)
		if err != nil || len(digest) != sha256.Size {
			return nil, fmt.Errorf(
				"sha256 of the token %q is not the SHA-256 of a token in hexadecimal digits", e.Name)
		}
		copy(t.Digest[:], digest)
		if names[t.Name] {
			return nil, fmt.Errorf("two tokens have the name %q", t.Name)
		}
		if other, twice := digests[t.Digest]; twice {
			return nil, fmt.Errorf("%q and %q are the same token", other, t.Name)
		}
		names[t.Name], digests[t.Digest] = true, t.Name
		all = append(all, t)
	}
	return all, nil
}

// refuseOthers returns an error that names an unknown member.
func refuseOthers(of string, others map[string]json.RawMessage, known ...string) error {
	if err := near.Unknown(others, known...); err != nil {
		return fmt.Errorf("%s has %w", of, err)
	}
	return nil
}

// encode returns the text of a file with this content.
func encode(c Content) ([]byte, error) {
	f := file{Tokens: []entry{}}
	for _, r := range c.Refused {
		f.Refused = append(f.Refused, refusedEntry{Principal: r.Principal, Until: r.Until})
	}
	for _, t := range c.Tokens {
		f.Tokens = append(f.Tokens, entry{Name: t.Name, SHA256: hex.EncodeToString(t.Digest[:]),
			Created: t.Created, Expires: t.Expires, Scopes: t.Scopes, Groups: t.Groups,
			Claims: t.Claims})
	}
	text, err := jsonexact.Marshal(&f)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// read returns the content of a file of tokens, which other users must not read or change.
func read(path string) ([]byte, error) { return userfile.ReadSecret(path, maxFile) }

// Read returns the content of a file. A file that does not exist is an error that wraps
// [fs.ErrNotExist].
func Read(path string) (Content, error) {
	text, err := read(path)
	if err != nil {
		return Content{}, err
	}
	c, err := Parse(text)
	if err != nil {
		return Content{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
