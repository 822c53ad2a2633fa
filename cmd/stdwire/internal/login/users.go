package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"
)

// The index of users with logins is in parts, because users who log in at the same time change it.
const (
	maxParts       = 64
	maxUsersOfPart = 256
)

// list puts a user into the index, who has a login until a time. A user stays there a day longer
// than he must, so that not every renewal changes it.
func (s *shared) list(ctx context.Context, user string, until time.Time) error {
	return update(ctx, s.store, partKey(partOf(user)), func(data []byte) ([]byte, time.Duration,
		error) {
		users, err := usersOf(data)
		if err != nil {
			return nil, 0, err
		}
		if users[user].After(until) {
			return data, 0, nil
		}
		now := time.Now()
		maps.DeleteFunc(users, func(_ string, until time.Time) bool { return now.After(until) })
		if _, listed := users[user]; !listed && len(users) >= maxUsersOfPart {
			return nil, 0, fmt.Errorf("there are logins of about %d users, which is the limit: "+
				"the next ones expire in 90 days at most", maxParts*maxUsersOfPart)
		}
		users[user] = until.Add(24 * time.Hour).UTC().Truncate(time.Second)
		text, err := json.Marshal(users)
		return text, keepFor + 48*time.Hour, err
	})
}

func partOf(user string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	return int(h.Sum32() % maxParts)
}

func partKey(part int) string { return fmt.Sprint("users with logins ", part) }

func usersOf(data []byte) (users map[string]time.Time, err error) {
	users = map[string]time.Time{}
	if data != nil {
		err = json.Unmarshal(data, &users)
	}
	return users, err
}

// ErrUnreadable is matched by the error for users whose logins cannot be read, while those of
// others can.
var ErrUnreadable = errors.New("logins cannot be read")

// An unreadable is values that cannot be read.
type unreadable struct {
	first error
	n     int
}

// add adds the value of whose logins unless err is nil.
func (u *unreadable) add(whose string, err error) {
	if err == nil {
		return
	}
	if u.n++; u.first == nil {
		u.first = fmt.Errorf("%w: those of %.100q: %w", ErrUnreadable, whose, err)
	}
}

func (u *unreadable) err() error {
	if u.n > 1 {
		return fmt.Errorf("%w; and %d other values", u.first, u.n-1)
	}
	return u.first
}

// first is [Store.First] of a shared store.
func (s *shared) first(ctx context.Context, n int) (first []Login, more int, err error) {
	now := time.Now()
	var unread unreadable
	var listed []string
	for part := range maxParts {
		users, err := s.listed(ctx, part)
		if errors.Is(err, errUnusable) {
			return nil, 0, err
		}
		unread.add(partKey(part), err)
		for user, until := range users {
			if now.Before(until) {
				listed = append(listed, user)
			}
		}
	}
	slices.Sort(listed)
	for i, user := range listed {
		if more = len(listed) - i; len(first) >= n {
			break
		}
		var rows map[Key]*row
		if rows, err = s.read(ctx, user); errors.Is(err, errUnusable) {
			break
		}
		unread.add(user, err)
		err, more = nil, 0
		for _, r := range rows {
			if now.Before(r.Until) {
				first = append(first, r.Login)
			}
		}
	}
	return first, more, cmp.Or(err, unread.err())
}

// listed returns a part of the index.
func (s *shared) listed(ctx context.Context, part int) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	l, err := s.store.Holder(ctx, partKey(part))
	if err != nil {
		return nil, unusableUnlessForged(err)
	}
	return usersOf(l.Data)
}
