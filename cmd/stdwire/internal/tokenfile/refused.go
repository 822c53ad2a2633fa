package tokenfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	maxRefused   = 10_000
	maxPrincipal = 2048 // bytes
)

// A Refusal is a caller who is refused although his credentials are valid, because whoever has
// issued them cannot take them back: an authorization server whose access tokens are read without
// asking it, or the authority of a certificate.
type Refusal struct {
	Principal string    // ISSUER#SUBJECT
	Until     time.Time // when the credentials have expired at the latest
}

// Check returns an error if a refusal cannot be in a file.
func (r *Refusal) Check() error {
	issuer, subject, ok := strings.Cut(r.Principal, "#")
	switch {
	case !ok || issuer == "" || subject == "" || len(r.Principal) > maxPrincipal:
		return fmt.Errorf("%.100q is no principal of at most %d bytes, such as %q", r.Principal,
			maxPrincipal, "https://login.example.com#ada")
	case issuer == Issuer:
		return fmt.Errorf("%.100q is not refused but deleted: revoke %.100q", r.Principal, subject)
	case r.Until.IsZero():
		return fmt.Errorf("the refusal of %.100q has no end", r.Principal)
	}
	return nil
}

type refusedEntry struct {
	Principal string                     `json:"principal"`
	Until     time.Time                  `json:"until"`
	Others    map[string]json.RawMessage `json:"-" unknown:"keep"`
}

func (f *file) refusals() (all []Refusal, err error) {
	if len(f.Refused) > maxRefused {
		return nil, fmt.Errorf("there are more than %d refused principals", maxRefused)
	}
	for _, e := range f.Refused {
		r := Refusal{e.Principal, e.Until}
		if err := r.Check(); err != nil {
			return nil, err
		}
		if err := refuseOthers(fmt.Sprintf("the refusal of %.100q", e.Principal), e.Others,
			"principal", "until"); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Refuse adds a refusal to a file, which it creates if needed, or replaces that of the principal.
// It removes those that have ended.
func Refuse(ctx context.Context, path string, r Refusal) error {
	if err := r.Check(); err != nil {
		return err
	}
	now := time.Now()
	return change(ctx, path, func(c *Content) error {
		c.Refused = append(slices.DeleteFunc(c.Refused, func(other Refusal) bool {
			return other.Principal == r.Principal || !now.Before(other.Until)
		}), r)
		if len(c.Refused) > maxRefused {
			return fmt.Errorf("%s refuses %d principals, which is the limit", path, maxRefused)
		}
		return nil
	})
}

// ErrRefused says that the file refuses a principal.
var ErrRefused = errors.New("this user's access was revoked")

// maxAdmitted limits the principals who are admitted at a time.
const maxAdmitted = 10_000

// An admission is a principal who has called, and may have sessions.
type admission struct {
	ended  context.Context
	cancel context.CancelCauseFunc
}

// Admit returns a context that ends, with [ErrRefused], when the file refuses a principal. If it
// does now, Admit returns that error. It is for callers with other credentials than the tokens of
// the file. Of more than 10,000 principals, the context of another one ends, whose clients have to
// open other sessions.
func (v *Verifier) Admit(principal string) (context.Context, error) {
	v.tokens() // notices a change of the file
	v.mu.Lock()
	defer v.mu.Unlock()
	if until, refused := v.refused[principal]; refused && time.Now().Before(until) {
		return nil, ErrRefused
	}
	if a, known := v.admitted[principal]; known {
		return a.ended, nil
	}
	for other, a := range v.admitted {
		if len(v.admitted) < maxAdmitted {
			break
		}
		a.cancel(ErrRevoked)
		delete(v.admitted, other)
	}
	ended, cancel := context.WithCancelCause(v.ctx)
	v.admitted[principal] = admission{ended, cancel}
	return ended, nil
}

// refuse makes these the refused principals.
func (v *Verifier) refuse(all []Refusal) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.refused = make(map[string]time.Time, len(all))
	for _, r := range all {
		if v.refused[r.Principal].Before(r.Until) {
			v.refused[r.Principal] = r.Until
		}
		if a, admitted := v.admitted[r.Principal]; admitted && now.Before(r.Until) {
			a.cancel(ErrRefused)
			delete(v.admitted, r.Principal)
		}
	}
}
