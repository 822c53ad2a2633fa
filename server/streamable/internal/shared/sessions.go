// Package shared keeps what the replicas of a server know of legacy sessions in a store: their
// records, the requests that have been begun, the answers to what the server has asked, and the
// events of streams; and the tasks of all clients. Notices wake the replicas; what they are about
// is in the store.
//
// The errors of its functions say that the store could not be used. They match those of package
// store.
package shared

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// patience is how long the store may take for one thing.
const patience = 5 * time.Second

// ClaimLife is how long a request that was begun is known, if nobody renews the claim: far longer
// than anything between client and server takes to send a request again.
const ClaimLife = 2 * time.Minute

// questionLife is longer than a handler waits for an answer.
const questionLife = 24 * time.Hour

// Pause returns how long to wait before something is tried again. It varies, so that replicas do
// not try together.
func Pause() time.Duration { return 100*time.Millisecond + rand.N(200*time.Millisecond) }

// ErrEmptied is the error for a session that the store has not had since it was empty, a short time
// ago: others may put it back.
var ErrEmptied = errors.New("the store was empty a short time ago")

// Sessions are the sessions of all replicas. Its methods are safe for concurrent use.
type Sessions struct {
	Store store.Store
	Part  string        // begins all names; what has another one is not shared
	Idle  time.Duration // a session that is not used for so long may end
	Log   *slog.Logger
	// Health notes whether the store can be used; nil: nobody asks. Others may have the same.
	Health *Health
}

// use returns a context for one use of the store, whose result the caller passes to end.
func (s *Sessions) use(ctx context.Context) (limited context.Context, end func(error)) {
	limited, cancel := context.WithTimeout(ctx, patience)
	return limited, func(err error) {
		cancel()
		if err == nil || ctx.Err() == nil { // else the caller has left, which says nothing
			s.Health.note(err)
		}
	}
}

// life is how long the store has a session that is not used. Its use is noted at the begin of
// requests, and every now and then while one runs or a stream is open, see Interval.
func (s *Sessions) life() time.Duration { return s.Idle + s.Interval() }

// Interval is how often a replica that uses a session, or runs a request, must say so.
func (s *Sessions) Interval() time.Duration {
	return max(min(s.Idle, ClaimLife)/3, 10*time.Millisecond)
}

// A Record is what the store has of a session. Its version changes with it.
type Record struct {
	Principal string          `json:"principal"`
	State     json.RawMessage `json:"state"`
	// Changes is the last of [Changes] that the client cannot have missed.
	Changes int64  `json:"changes"`
	Began   string `json:"began"`           // the epoch of the store when the session began; Open sets it
	Owner   string `json:"owner,omitempty"` // the name of the [Replica] that owns it
	// Roots counts how often the client has said that its roots have changed.
	Roots int64 `json:"roots,omitempty"`
	// Saved counts how often Save has changed the record, whatever the store has lost since: of two
	// copies of a session, the one with more is newer.
	Saved int64 `json:"saved,omitempty"`

	Version int64  `json:"-"` // 0: there is no such session
	Epoch   string `json:"-"` // of the store when the record was last seen in it
}

// IsID reports whether a text may be the id of a session, which crypto/rand.Text has made.
func IsID(text string) bool {
	if len(text) != 26 {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// Open stores a new session.
func (s *Sessions) Open(ctx context.Context, id string, r *Record) (err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	epoch, err := s.lookAtEpoch(ctx)
	if err != nil {
		return err
	}
	if r.Began == "" {
		r.Began = epoch
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l, acquired, err := s.Store.Acquire(ctx, s.Part+"session/"+id, text, s.life())
	if err != nil {
		return err
	}
	if !acquired { // another replica has put it back, see Find
		return s.read(l, r, epoch)
	}
	r.Version, r.Epoch = l.Fence, epoch
	return nil
}

func (s *Sessions) read(l store.Lease, r *Record, epoch string) error {
	var found Record
	if err := json.Unmarshal(l.Data, &found); err != nil {
		return err
	}
	found.Version, found.Epoch = l.Fence, epoch
	*r = found
	return nil
}

// Use lets a session live on, and reports whether r is still its record. It costs a round trip.
func (s *Sessions) Use(ctx context.Context, id string, r *Record) (current bool, err error) {
	if r.Version <= 0 {
		return false, nil
	}
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	return s.Store.Renew(ctx, s.Part+"session/"+id, r.Version, s.life())
}

// Find reads the record of a session, whose version is 0 if there is none. If the store has lost it
// since known was seen, or another replica has put back an older one, Find puts known back; nil
// means that nothing is known.
func (s *Sessions) Find(ctx context.Context, id string, known *Record) (r Record, err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	if known == nil {
		known = new(Record)
	}
	for {
		epoch, err := s.lookAtEpoch(ctx)
		if err != nil {
			return Record{}, err
		}
		l, err := s.Store.Holder(ctx, s.Part+"session/"+id)
		switch {
		case err != nil:
			return Record{}, err
		case l.Data != nil:
			if err := s.read(l, &r, epoch); err != nil || r.Saved >= known.Saved {
				return r, err
			}
			if replaced, err := s.putNewer(ctx, id, &r, known); replaced || err != nil {
				return r, err
			}
			continue
		case l.Fence != 0: // it has ended
			return Record{}, nil
		}
		// It is looked at before and after, because the store may have lost the record meanwhile.
		if epoch, err = s.lookAtEpoch(ctx); err != nil {
			return Record{}, err
		}
		if known.Version == 0 || known.Epoch == epoch {
			return Record{}, s.checkAge(ctx)
		}
		r = *known
		r.Changes = beforeLoss
		if err := s.Open(ctx, id, &r); err != nil || r.Saved >= known.Saved {
			return r, err
		}
	}
}

// beforeLoss is the number of no change, and before those of all: who asks for the changes after it
// is told that some are missing, as those are that the store has lost.
const beforeLoss = 1

// putNewer puts known in the place of an older record, and reports whether it did: not if r is no
// longer what the store has. If the client has changed both since they were the same, the changes
// of the older one are lost.
func (s *Sessions) putNewer(ctx context.Context, id string, r, known *Record) (bool, error) {
	newer := *known
	// What the older one says of the client is true, whoever has heard it.
	newer.Changes, newer.Roots = r.Changes, max(r.Roots, known.Roots)
	newer.Epoch = r.Epoch
	replaced, err := s.replace(ctx, id, r, &newer)
	if replaced {
		// a replica that does not hear of it learns it with the next request
		_ = s.tell(ctx, Notice{Session: id, Changed: true})
	}
	return replaced, err
}

// grace is how long other replicas may take to put back what the store has lost.
func (s *Sessions) grace() time.Duration { return min(time.Minute, max(s.Idle, ReplicaLife)) }

// What all parts of a store have: a value that it loses with everything else, one that it has while
// the former is younger than grace, and one while it is younger than ReplicaLife, in which replicas
// that live have their leases again.
const (
	epoch   = "epoch"
	young   = "young"
	newborn = "newborn"
)

// lookAtEpoch returns the epoch of the store. One that has none was empty a moment ago.
func (s *Sessions) lookAtEpoch(ctx context.Context) (string, error) {
	value, err := s.Store.Get(ctx, epoch)
	if err != nil || value != nil {
		return string(value), err
	}
	if _, err = s.Store.Put(ctx, young, []byte{1}, store.Always, s.grace()); err != nil {
		return "", err
	}
	if _, err = s.Store.Put(ctx, newborn, []byte{1}, store.Always, ReplicaLife); err != nil {
		return "", err
	}
	if _, err = s.Store.Put(ctx, epoch, []byte(cryptorand.Text()), store.IfAbsent, 0); err != nil {
		return "", err
	}
	value, err = s.Store.Get(ctx, epoch)
	return string(value), err
}

// Save changes the record of a session, if r is still what the store has.
func (s *Sessions) Save(ctx context.Context, id string, r *Record, state []byte) (saved bool,
	err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	changed := *r
	changed.State = state
	changed.Saved++
	return s.replace(ctx, id, r, &changed)
}

// SaveChanges notes in the record, if r is still what the store has, that the client knows of the
// changes up to one. This does not make the record newer than another one.
func (s *Sessions) SaveChanges(ctx context.Context, id string, r *Record, known int64) (saved bool,
	err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	changed := *r
	changed.Changes = known
	return s.replace(ctx, id, r, &changed)
}

// replace replaces r by another record, if r is still what the store has.
func (s *Sessions) replace(ctx context.Context, id string, r, by *Record) (replaced bool,
	err error) {
	text, err := json.Marshal(by)
	if err != nil {
		return false, err
	}
	l, replaced, err := s.Store.Replace(ctx, s.Part+"session/"+id, r.Version, text, s.life())
	if replaced {
		*r = *by
		r.Version = l.Fence
	}
	return replaced, err
}

// End ends a session everywhere, if nobody has used it for a time; 0: in any case.
func (s *Sessions) End(ctx context.Context, id string, unused time.Duration) (err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	for {
		l, err := s.Store.Holder(ctx, s.Part+"session/"+id)
		if err != nil || l.Data == nil {
			return err
		}
		within := time.Duration(0)
		if unused > 0 {
			if within = s.life() - unused; l.Left > within {
				return nil // somebody has used it
			}
		}
		// The number is that of what has been read: a record that has changed is read again.
		ended, err := s.Store.Release(ctx, s.Part+"session/"+id, l.Fence, within)
		if ended || err != nil {
			return err
		}
	}
}

// Claim reports whether the caller is the first to begin a request of a session, and so may run it.
// Who passes a request on and does not hear whether it was begun claims it himself: if he is the
// first, it never is, and he has another attempt.
func (s *Sessions) Claim(ctx context.Context, id, request string, attempt int) (first bool,
	err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	if attempt > 0 {
		request += " " + strconv.Itoa(attempt) // no id of JSON-RPC ends like that
	}
	return s.Store.Put(ctx, s.Part+"request/"+id+"/"+request, nil, store.IfAbsent, ClaimLife)
}

// Keep renews the claim of a request that runs.
func (s *Sessions) Keep(ctx context.Context, id, request string) (err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	_, err = s.Store.Put(ctx, s.Part+"request/"+id+"/"+request, nil, store.Always, ClaimLife)
	return err
}

// checkLoss returns [ErrEmptied] if the store has lost what it had in an epoch, a short time ago.
func (s *Sessions) checkLoss(ctx context.Context, since string) error {
	now, err := s.lookAtEpoch(ctx)
	if err != nil || now == since {
		return err
	}
	return s.checkAge(ctx)
}

// checkAge returns [ErrEmptied] if the store was empty a short time ago.
func (s *Sessions) checkAge(ctx context.Context) error {
	young, err := s.Store.Get(ctx, young)
	if err == nil && young != nil {
		err = ErrEmptied
	}
	return err
}

// again calls f until it succeeds, the error says neither that the store cannot be reached nor that
// it was emptied, or ctx ends.
func (s *Sessions) again(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, redis.ErrUnavailable) && !errors.Is(err, redis.ErrUnknown) &&
			!errors.Is(err, ErrEmptied) {
			return err
		}
		select {
		case <-time.After(Pause()):
		case <-ctx.Done():
			return err
		}
	}
}

// A Notice says that something of a session has changed.
type Notice struct {
	Session  string `json:"session,omitempty"`
	Answered int64  `json:"answered,omitempty"` // the call that the client has answered
	// Cancelled is the id of a request that the client has cancelled, as JSON text. Only the notice
	// says so: the protocol allows that a cancellation is lost.
	Cancelled string `json:"cancelled,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Changed   bool   `json:"changed,omitempty"` // the record has changed, or is gone
	Changes   bool   `json:"changes,omitempty"` // of lists or resources, see [Changes]
	// Task has changed, or its questions were answered. Session is then that of the legacy client
	// whose task it is, if any, and not the id of one, and From the replica that says so.
	Task string `json:"task,omitempty"`
	From string `json:"from,omitempty"`
	// Stream is one that the client has resumed, with the reader of that name: all others end.
	Stream int64  `json:"stream,omitempty"`
	Reader string `json:"reader,omitempty"`
	Events bool   `json:"events,omitempty"` // were added, see [Events]
}

const channel = "sessions"

func (s *Sessions) tell(ctx context.Context, n Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return s.Store.Publish(ctx, s.Part+channel, text)
}

// Tell sends a notice to all replicas, this one included. A notice that is lost is not an error.
func (s *Sessions) Tell(ctx context.Context, n Notice) (err error) {
	ctx, end := s.use(ctx)
	defer func() { end(err) }()
	return s.tell(ctx, n)
}

// Follow calls fn with each notice until ctx ends, and with nil when some may be missing, as at
// first.
func (s *Sessions) Follow(ctx context.Context, fn func(*Notice)) {
	for ctx.Err() == nil {
		subscription, err := s.Store.Subscribe(ctx, s.Part+channel)
		if err == nil {
			fn(nil)
			err = follow(ctx, subscription, fn)
			subscription.Close()
		}
		if ctx.Err() == nil {
			s.Log.Warn("the notices of other replicas are missing", "error", err)
		}
		select {
		case <-time.After(Pause()):
		case <-ctx.Done():
		}
	}
}

func follow(ctx context.Context, s store.Subscription, fn func(*Notice)) error {
	for {
		m, err := s.Next(ctx)
		if err != nil {
			return err
		}
		n := new(Notice)
		if m.Lost || json.Unmarshal(m.Payload, n) != nil {
			n = nil
		}
		fn(n)
	}
}
