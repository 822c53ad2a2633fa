package policy_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/policy"
)

func parsed(t *testing.T, table *naiveTable) *policy.Policy {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{"default": table.Default, "rules": table.Rules},
		"", " ")
	assert.NilError(t, err)
	p, err := policy.ParseFile("p", text)
	assert.NilError(t, err, "%s", text)
	return p
}

// changed returns a table with a few changes.
func (s source) changed(before *naiveTable) *naiveTable {
	after := &naiveTable{Default: before.Default, Rules: slices.Clone(before.Rules)}
	for range 1 + s.IntN(2) {
		switch s.IntN(5) {
		case 0:
			after.Default = pick(s, "allow", "deny")
		case 1, 2:
			if len(after.Rules) > 1 {
				i := s.IntN(len(after.Rules))
				after.Rules = slices.Delete(after.Rules, i, i+1)
			}
		case 3:
			after.Rules = append(after.Rules, s.table().Rules...)
		case 4:
			s.Shuffle(len(after.Rules), func(i, j int) {
				after.Rules[i], after.Rules[j] = after.Rules[j], after.Rules[i]
			})
		}
	}
	return after
}

// A change that only restricts permits nothing that was not permitted before; and within another
// policy, the stricter one of the two decides, for lists as for calls.
func TestChanges(t *testing.T) {
	s := source{rand.New(rand.NewPCG(3, 4))}
	restricting, permitting := 0, 0
	for range 300 {
		table := s.table()
		before, after := parsed(t, table), parsed(t, s.changed(table))
		restricts, both := after.OnlyRestricts(before), after.Within(before)
		assert.Assert(t, after.OnlyRestricts(nil))
		assert.Assert(t, both.Same(after.Within(before)) && !both.Same(after))
		assert.Assert(t, !both.OnlyRestricts(before), "it has been compared already")
		if restricts {
			restricting++
		}
		for range 8 {
			c, i, args := s.caller(), s.item(), []byte(s.call())
			was, now := before.Decide(c, i, args), after.Decide(c, i, args)
			if now.Effect < was.Effect {
				permitting++
				assert.Assert(t, !restricts, "%+v %+v %s", c, i, args)
			}
			d, shown := both.Decide(c, i, args), both.Shows(c, i)
			assert.Equal(t, d.Effect, max(was.Effect, now.Effect))
			assert.Equal(t, shown.Effect, max(before.Shows(c, i).Effect, after.Shows(c, i).Effect))
			if shown.Effect == deny {
				assert.Assert(t, d.Effect == deny && d.Pointer == "")
			} else if d.Effect == deny {
				assert.Assert(t, d.Pointer != "", "shown, but denied whatever the arguments are")
			}
			if shown.Certain {
				assert.Equal(t, shown.Effect, d.Effect)
			}
		}
	}
	assert.Assert(t, restricting > 40 && permitting > 40, "%d %d", restricting, permitting)
}

func TestOnlyRestricts(t *testing.T) {
	const read, write = `{"effect":"allow","what":{"tool":"read"}}`,
		`{"effect":"allow","what":{"tool":"write"}}`
	const no, ask = `{"effect":"deny","what":{"tool":"read"}}`,
		`{"effect":"ask","what":{"tool":"read"}}`
	for _, tt := range []struct {
		before, after string
		restricts     bool
	}{
		{`{"rules":[` + read + `,` + write + `]}`, `{"rules":[` + write + `]}`, true},
		{`{"rules":[` + read + `]}`, `{"rules":[` + read + `,` + no + `]}`, true},
		{`{"default":"allow","rules":[` + no + `]}`, `{"rules":[` + no + `]}`, true},
		{`{"rules":[` + read + `,` + no + `]}`, `{"rules":[` + no + `,` + read + `]}`, true},
		{`{"rules":[` + read + `]}`, `{"rules":[` + read + `,` + read + `]}`, false},
		{`{"rules":[` + read + `]}`, `{"rules":[` + write + `]}`, false},
		{`{"rules":[` + read + `,` + no + `]}`, `{"rules":[` + read + `]}`, false},
		{`{"rules":[` + no + `]}`, `{"default":"allow","rules":[` + no + `]}`, false},
		{`{"rules":[` + read + `]}`, `{"rules":[` + read + `,` + ask + `]}`, false},
		{`{"rules":[` + read + `,` + ask + `]}`, `{"rules":[` + read + `]}`, false},
	} {
		before, err := policy.ParseFile("a", []byte(tt.before))
		assert.NilError(t, err)
		after, err := policy.ParseFile("b", []byte(tt.after))
		assert.NilError(t, err)
		assert.Equal(t, after.OnlyRestricts(before), tt.restricts, "%s -> %s", tt.before, tt.after)
	}
}
