package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"maps"
	"time"

	"github.com/stdwire/stdwire/client/auth"
)

const (
	// refusalTime is how long a token that an authorization server has refused is not sent there
	// again.
	refusalTime = 30 * time.Second
	maxRefusals = 1000
)

// A refusal is why a token cannot be exchanged.
type refusal struct {
	err   error
	until time.Time
}

func (s *Selector) digest(u *User) (sum [sha256.Size]byte) {
	d := hmac.New(sha256.New, s.key)
	d.Write([]byte(u.subject))
	copy(sum[:], d.Sum(nil))
	return sum
}

// Failed tells the selector that a connection of the user could not be made. If an authorization
// server has refused his token, it is not asked again for 30 s.
func (s *Selector) Failed(u *User, err error) {
	e, ok := errors.AsType[*auth.Error](err)
	asked := ok && (e.Step == auth.StepExchange || e.Step == auth.StepToken)
	if !asked || e.Status/100 != 4 || u == nil || u.subject == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.refused, func(_ [sha256.Size]byte, r refusal) bool {
		return now.After(r.until)
	})
	if len(s.refused) < maxRefusals {
		s.refused[s.digest(u)] = refusal{err, now.Add(refusalTime)}
	}
}

// refusalOf returns why the token of the user was refused lately, or nil.
func (s *Selector) refusalOf(u *User) error {
	if u.subject == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.refused[s.digest(u)]; ok && time.Now().Before(r.until) {
		return &refusedError{r.err}
	}
	return nil
}

// A refusedError is an error of an authorization server from before.
type refusedError struct{ error }

func (e *refusedError) Error() string { return "cannot be called for this user: " + e.error.Error() }
func (e *refusedError) Unwrap() error { return e.error }
