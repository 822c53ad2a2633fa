package tokenfile

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/server/auth"
)

// Issuer is the issuer of the identities of named tokens, and the principal of a token without a
// name.
const Issuer = "token"

// Credentials are a token that was valid when it was found.
type Credentials struct {
	// Identity is nil for a token without a name.
	Identity *auth.Identity
	// Ended ends, with [ErrRevoked] or [ErrExpired], when the token is valid no more or what the
	// file says of it has changed.
	Ended context.Context

	token  Token
	cancel context.CancelCauseFunc
}

// Principal returns the principal of a caller with the token.
func (c *Credentials) Principal() string {
	if c.Identity == nil {
		return Issuer
	}
	return c.Identity.Principal()
}

// The causes of the end of a token.
var (
	ErrRevoked = errors.New("the token was revoked or changed")
	ErrExpired = errors.New("the token has expired")
)

// A Verifier finds tokens. It is safe for concurrent use. Close it when it is not used any more.
type Verifier struct {
	file filewatch.Value[valid]
	ctx  context.Context // of all credentials; until Close
	end  context.CancelFunc
	last valid // that file had; used by file only

	mu       sync.Mutex
	refused  map[string]time.Time // until when, by principal
	admitted admissions
}

// valid are tokens by their digests. A lookup reveals by its time no more than something about the
// digest of what was sent, from which nobody can choose the next guess.
type valid map[[sha256.Size]byte]*Credentials

// followInterval is how often a file is checked. Its changes take effect, and end what they have
// to, within twice that.
const followInterval = 250 * time.Millisecond

// A Source is a file from which a [Verifier] has its tokens.
type Source struct {
	What  string // the content of the file, in log lines
	Path  string
	Read  func(path string) ([]byte, error) // never blocks
	Parse func(text []byte) (Content, error)
	Log   *slog.Logger
}

// File returns the source with the named tokens of a file.
func File(path string, log *slog.Logger) Source {
	return Source{What: "the file of tokens", Path: path, Read: read, Parse: Parse, Log: log}
}

// Open returns a verifier of the tokens in a file. It follows the file while [Verifier.Follow]
// runs, and checks it when a token is looked for. While the file is invalid or missing, the last
// tokens stay valid, and the log says why.
func (s Source) Open() (*Verifier, error) {
	v := newVerifier()
	v.file = filewatch.Value[valid]{What: s.What, Paths: []string{s.Path}, Read: s.Read, Log: s.Log,
		Interval: followInterval,
		Parse: func(contents [][]byte) (valid, error) {
			all, err := s.Parse(contents[0])
			if err != nil {
				return nil, err
			}
			v.refuse(all.Refused)
			return v.replace(all.Tokens), nil
		}}
	if err := v.file.Load(); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// Single returns a verifier of one token without a name.
func Single(secret string) *Verifier {
	v := newVerifier()
	v.replace([]Token{Unnamed(secret)})
	return v
}

// Unnamed returns a token without a name.
func Unnamed(secret string) Token { return Token{Digest: sha256.Sum256([]byte(secret))} }

func newVerifier() *Verifier {
	v := &Verifier{admitted: admissions{byCaller: map[admitted]*list.Element{}}}
	v.ctx, v.end = context.WithCancel(context.Background())
	return v
}

// replace makes these tokens the valid ones. Those that have not changed stay as they are; others
// end.
func (v *Verifier) replace(all []Token) valid {
	now := make(valid, len(all))
	for _, t := range all {
		if c := v.last[t.Digest]; c != nil && c.token.equal(&t) {
			now[t.Digest] = c
		} else {
			now[t.Digest] = v.credentials(t)
		}
	}
	for digest, c := range v.last {
		if now[digest] != c {
			c.cancel(ErrRevoked)
		}
	}
	v.last = now
	return now
}

// credentials returns the credentials of a token until it expires.
func (v *Verifier) credentials(t Token) *Credentials {
	c := &Credentials{token: t}
	ctx, cancel := context.WithCancelCause(v.ctx)
	c.Ended, c.cancel = ctx, cancel
	if !t.Expires.IsZero() {
		var stop context.CancelFunc
		c.Ended, stop = context.WithDeadlineCause(ctx, t.Expires, ErrExpired)
		c.cancel = func(cause error) {
			cancel(cause)
			stop()
		}
	}
	if t.Name != "" {
		c.Identity = &auth.Identity{Issuer: Issuer, Subject: t.Name, Groups: t.Groups,
			Scopes: t.Scopes, Claims: t.Claims, Expires: t.Expires}
	}
	return c
}

// equal reports whether two tokens say the same of a caller.
func (t *Token) equal(other *Token) bool {
	a, errA := encode(Content{Tokens: []Token{*t}})
	b, errB := encode(Content{Tokens: []Token{*other}})
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// tokens returns the credentials by the digests of their tokens. last changes with the file.
func (v *Verifier) tokens() map[[sha256.Size]byte]*Credentials {
	if v.file.Parse == nil {
		return v.last
	}
	return v.file.Get()
}

// Find returns the credentials of a token that is valid now, or nil.
func (v *Verifier) Find(secret string) *Credentials {
	c := v.tokens()[sha256.Sum256([]byte(secret))]
	if c == nil || c.token.IsExpired(time.Now()) {
		return nil
	}
	return c
}

// Follow notices changes of the file without a request, until ctx ends.
func (v *Verifier) Follow(ctx context.Context) {
	if v.file.Parse == nil {
		return
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = v.file.Get()
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all credentials.
func (v *Verifier) Close() { v.end() }
