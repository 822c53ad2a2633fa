package decision

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/store"
)

// Read returns what has been decided, and lets it be kept on.
func (d *Decisions) Read(ctx context.Context) (*State, error) {
	s := &State{Disabled: map[string]bool{}}
	for key, value := range map[string]any{switchedKey: &s.Disabled, acceptedKey: &s.Accepted} {
		l, err := d.store.Holder(ctx, key)
		if err != nil {
			return nil, err
		}
		if err := parse(key, l.Data, value); err != nil {
			return nil, err
		}
		if l.Data != nil && l.Left < keepFor/2 {
			if _, err := d.store.Renew(ctx, key, l.Fence, keepFor); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func parse(key string, data []byte, value any) error {
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("what the store has of the %s is of another version: %w", key, err)
	}
	return nil
}

// edit replaces a value.
func edit[T any](ctx context.Context, s store.Store, key string, edit func(*T)) error {
	return store.Update(ctx, s, key, func(data []byte) ([]byte, time.Duration, error) {
		var value T
		if err := parse(key, data, &value); err != nil {
			return nil, 0, err
		}
		edit(&value)
		text, err := json.Marshal(value)
		return text, keepFor, err
	})
}

// change adds what has been decided about servers. An enabled one is forgotten if its configuration
// does not disable it, so that this may do so later. full reports that there was no room.
func change(all *map[string]bool, switched map[string]pendingSwitch) (full bool) {
	if *all == nil {
		*all = map[string]bool{}
	}
	for id, s := range switched {
		if !s.disabled && !s.configured {
			delete(*all, id)
			continue
		}
		if _, known := (*all)[id]; !known && len(*all) >= maxSwitched {
			full = true
			continue
		}
		(*all)[id] = s.disabled
	}
	return full
}

// appendAccepted adds a definition. It replaces an earlier one of the same item, and all of a
// server whose identity was another one: accepting that has removed its pins. Of too many, the
// oldest are removed.
func appendAccepted(all []Accepted, a Accepted) []Accepted {
	all = slices.DeleteFunc(slices.Clone(all), func(old Accepted) bool {
		return old.is(&a) || old.Server.ID == a.Server.ID && !old.sameIdentity(&a)
	})
	all = append(all, a)
	size := 0
	for i := len(all) - 1; i >= 0; i-- {
		if size += len(all[i].Definition); size > maxBytes || len(all)-i > maxAccepted {
			return all[i+1:]
		}
	}
	return all
}
