package tokenfile

import (
	"cmp"
	"container/list"
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

// maxAdmitted limits the callers who are admitted at a time.
const maxAdmitted = 10_000

// An admitted is a caller who has called, and may have sessions.
type admitted struct {
	principal string
	with      context.Context // of his credentials; nil: their end is not known
}

// admissions are the latest callers.
type admissions struct {
	byCaller map[admitted]*list.Element
	order    list.List // of *admission; the one who has called last is the first
}

type admission struct {
	admitted
	ended  context.Context
	cancel context.CancelCauseFunc
}

// end forgets a caller, and ends what he has opened.
func (a *admissions) end(e *list.Element, cause error) {
	of := a.order.Remove(e).(*admission)
	delete(a.byCaller, of.admitted)
	of.cancel(cause)
}

// Admit returns a context that ends, with [ErrRefused], when the file refuses a principal, or with
// the caller's credentials, whose end is unknown if they are nil. If the file refuses him now,
// Admit returns that error. It is for callers who are not known by a token of the file. Of more
// than 10,000, the context ends of the one who has not called for the longest time, and whose
// clients have to open other sessions.
func (v *Verifier) Admit(principal string, credentials context.Context) (context.Context, error) {
	v.tokens() // notices a change of the file
	v.mu.Lock()
	defer v.mu.Unlock()
	if until, refused := v.refused[principal]; refused && time.Now().Before(until) {
		return nil, ErrRefused
	}
	caller := admitted{principal, credentials}
	if e := v.admitted.byCaller[caller]; e != nil {
		v.admitted.order.MoveToFront(e)
		return e.Value.(*admission).ended, nil
	}
	if len(v.admitted.byCaller) >= maxAdmitted {
		v.admitted.end(v.admitted.order.Back(), ErrRevoked)
	}
	of := &admission{admitted: caller}
	of.ended, of.cancel = context.WithCancelCause(cmp.Or(credentials, v.ctx))
	v.admitted.byCaller[caller] = v.admitted.order.PushFront(of)
	return of.ended, nil
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
	}
	for caller, e := range v.admitted.byCaller {
		if now.Before(v.refused[caller.principal]) {
			v.admitted.end(e, ErrRefused)
		}
	}
}
