package access

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/policy"
)

// What a change takes away stays away until the operator has accepted a change, also if it was a
// part of one that waited, and whatever is changed afterwards.
func TestRestrictionsOfWaitingChangesStay(t *testing.T) {
	const one, two, three = `{"effect":"allow","what":{"tool":"one"}}`,
		`{"effect":"allow","what":{"tool":"two"}}`, `{"effect":"allow","what":{"tool":"three"}}`
	const notOne, notTwo = `{"effect":"deny","what":{"tool":"one"}}`,
		`{"effect":"deny","what":{"tool":"two"}}`
	r := New(false, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		rules          []string
		accepted       bool
		changed, waits bool
		permitted      string
	}{
		{[]string{one, two}, true, true, false, "one two"},
		{[]string{one, two, three}, false, true, true, "one two"},
		{[]string{one, two}, false, true, false, "one two"}, // it has taken nothing away
		{[]string{one, two, notOne, three}, false, true, true, "two"},
		{[]string{one, two, notOne, three}, false, false, true, "two"},
		{[]string{one, two}, false, true, true, "two"},
		{[]string{one, two, notTwo}, false, true, true, ""},
		{[]string{one, two}, false, true, true, ""},
		{[]string{one, two, notTwo, notOne}, false, true, false, ""},
		{[]string{one, two}, true, true, false, "one two"},
		{[]string{two, three}, false, true, true, "two"}, // allows are taken away, too
		{[]string{one, two, three}, false, true, true, "two"},
		{[]string{one, two}, false, true, true, "two"},
		{[]string{two}, false, true, false, "two"},
		{[]string{one, two, three}, true, true, false, "one two three"},
	} {
		p, err := policy.ParseFile("p", []byte(`{"rules":[`+strings.Join(step.rules, ",")+`]}`))
		assert.NilError(t, err)
		changed, waits := r.Set(p, step.accepted)
		var permitted []string
		for _, tool := range []string{"one", "two", "three"} {
			d := r.policy.Load().Decide(new(policy.Caller), policy.Item{Name: tool}, nil)
			if d.Effect == policy.Allow {
				permitted = append(permitted, tool)
			}
		}
		assert.Equal(t, strings.Join(permitted, " "), step.permitted, "%v", step.rules)
		assert.Equal(t, changed, step.changed, "%v", step.rules)
		assert.Equal(t, waits, step.waits, "%v", step.rules)
	}

	// of very many changes the first are forgotten, but not what was accepted
	for i := range 2 * maxWaiting {
		p, err := policy.ParseFile("p", fmt.Appendf(nil,
			`{"rules":[{"effect":"allow"},{"effect":"deny","what":{"tool":"other%d"}}]}`, i))
		assert.NilError(t, err)
		_, waits := r.Set(p, false)
		assert.Assert(t, waits)
		assert.Assert(t, len(r.waiting) <= maxWaiting)
		for tool, want := range map[string]policy.Effect{"one": policy.Allow, "four": policy.Deny} {
			d := r.policy.Load().Decide(new(policy.Caller), policy.Item{Name: tool}, nil)
			assert.Equal(t, d.Effect, want)
		}
	}
}
