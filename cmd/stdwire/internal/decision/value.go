package decision

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Read returns what has been decided, and lets it be kept on. What the store has lost is as it was,
// and Follow puts it back.
func (d *Decisions) Read(ctx context.Context) (*State, error) {
	s := &State{}
	for key, value := range map[string]any{switchedKey: &s.Switched, acceptedKey: &s.Accepted} {
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Switched == nil && len(d.known.Switched) > 0 {
		s.Switched, d.lost = d.known.Switched, true
	}
	if s.Accepted == nil && len(d.known.Accepted) > 0 {
		s.Accepted, d.lost = d.known.Accepted, true
	}
	d.known = s
	return s, nil
}

func parse(key string, data []byte, value any) error {
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("what the store has of the %s is of another version: %w", key, err)
	}
	if all, ok := value.(*[]Accepted); ok {
		for i := range *all {
			(*all)[i].makeCanonical()
		}
	}
	return nil
}

// edit replaces a value, and sets known to the new one. If the store has lost the value, known
// takes its place. The function must not modify its argument.
func edit[T any](ctx context.Context, s store.Store, key string, known *T, edit func(T) T) error {
	var edited T
	err := store.Update(ctx, s, key, func(data []byte) ([]byte, time.Duration, error) {
		var value T
		if err := parse(key, data, &value); err != nil {
			return nil, 0, err
		}
		if data == nil {
			value = *known
		}
		edited = edit(value)
		text, err := mcp.Marshal(edited)
		return text, keepFor, err
	})
	if err == nil {
		*known = edited
	}
	return err
}

// change returns all with what has been decided about servers. Of too many, those are forgotten
// that are as configured; full reports that there was no room all the same.
func change(all, switched map[string]Switched) (_ map[string]Switched, full bool) {
	before := all
	if all = maps.Clone(before); all == nil {
		all = map[string]Switched{}
	}
	maps.Copy(all, switched)
	for id, s := range all {
		if len(all) > maxSwitched && s == AsConfigured {
			delete(all, id)
		}
	}
	for id := range switched {
		if _, known := before[id]; !known && len(all) > maxSwitched {
			full = true
			delete(all, id)
		}
	}
	return all, full
}

// follow returns what the store has, with definitions that were accepted here by who had read s,
// but for those that would replace what he has not read.
func (s *State) follow(all, accepted []Accepted) (_, outrun []Accepted) {
	for _, a := range accepted {
		unread := func(old Accepted) bool { return a.replaces(&old) && !s.Has(&old) }
		switch now := (&State{Accepted: all}); {
		case now.Has(&a):
		case slices.ContainsFunc(all, unread):
			outrun = append(outrun, a)
		default:
			all = appendAccepted(all, a)
		}
	}
	return all, outrun
}

// appendAccepted adds a definition to a copy, in place of those that it replaces. Of too many, the
// oldest are removed.
func appendAccepted(all []Accepted, a Accepted) []Accepted {
	all = slices.DeleteFunc(slices.Clone(all), func(old Accepted) bool { return a.replaces(&old) })
	all = append(all, a)
	size := 0
	for i := len(all) - 1; i >= 0; i-- {
		if size += len(all[i].Definition); size > maxBytes || len(all)-i > maxAccepted {
			return all[i+1:]
		}
	}
	return all
}
