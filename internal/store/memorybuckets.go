package store

import (
	"context"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
)

// inGroup returns charges with the keys that they have in m.buckets.
func inGroup(group string, charges []rate.Charge) []rate.Charge {
	charges = slices.Clone(charges)
	for i := range charges {
		charges[i].Key = groupKey(group, string(charges[i].Key))
	}
	return charges
}

func groupKey(group, key string) []byte {
	return rate.AppendPart(rate.AppendPart(nil, group), key)
}

// Charge implements [Store].
func (m *Memory) Charge(_ context.Context, group string, charges []rate.Charge) (int,
	time.Duration, error) {
	if err := checkCharges(charges); err != nil {
		return 0, 0, err
	}
	all := inGroup(group, charges)
	refused, wait := m.buckets.Take(all)
	for i := range all {
		charges[i].Taken = all[i].Taken
	}
	return refused, wait, nil
}

// Peek implements [Store].
func (m *Memory) Peek(_ context.Context, group string, charges []rate.Charge) (int, time.Duration,
	error) {
	if err := checkCharges(charges); err != nil {
		return 0, 0, err
	}
	refused, wait := m.buckets.Peek(inGroup(group, charges))
	return refused, wait, nil
}

// Refund implements [Store].
func (m *Memory) Refund(_ context.Context, group string, charges []rate.Charge) error {
	m.buckets.Refund(inGroup(group, charges))
	return nil
}

// Pause implements [Store].
func (m *Memory) Pause(_ context.Context, group, key string, d time.Duration) error {
	m.buckets.Close(groupKey(group, key), time.Now().Add(d))
	return nil
}
