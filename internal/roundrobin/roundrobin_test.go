package roundrobin

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// order removes all values in the order of their turns.
func order(q *Queue[string]) string {
	var all []string
	q.Serve(func(v string) bool {
		all = append(all, v)
		return true
	})
	return strings.Join(all, " ")
}

// add adds values, each of the principal that its first letter names; a capital one goes on.
func add(q *Queue[string], values string) {
	for v := range strings.FieldsSeq(values) {
		if principal := strings.ToLower(v[:1]); principal != v[:1] {
			q.Continue(principal, v)
		} else {
			q.Add(principal, v)
		}
	}
}

func TestOrder(t *testing.T) {
	for _, tc := range []struct{ name, first, served, removed, then, want string }{
		{"arrival", "a1 a2 a3", "", "", "", "a1 a2 a3"},
		{"rounds", "a1 a2 a3 b1 c1 b2", "", "", "", "a1 b1 c1 a2 b2 a3"},
		{"behind the round that has begun", "a1 a2 a3", "a1 a2", "", "b1 a4", "a3 b1 a4"},
		{"one that needs less overtakes", "a1 b1 a2", "a2", "", "b2 c1", "a1 b1 b2 c1"},
		{"the last one waits in vain", "a1 a2 b1", "", "a2", "a3 c1", "a1 b1 c1 a3"},
		{"all wait in vain", "a1 a2", "", "a2 a1", "b1 a3", "b1 a3"},
		{"what goes on is first", "a1 a2 b1", "a1", "", "A3", "A3 b1 a2"},
		{"principals go on in turn", "a1 a2 b1", "a1 b1", "", "A3 B2 A4 B3", "A3 B2 A4 B3 a2"},
		{"one goes on in a round", "a1 a2 a3 b1 b2", "a1", "", "A4 A5 A6 a7 b3",
			"A4 b1 A5 b2 A6 b3 a2 a3 a7"},
		{"what goes on waits in vain", "a1 a2 b1 A3 A4", "A3", "A4", "A5 b2", "A5 b1 a1 b2 a2"},
		{"one in between waits in vain", "a1 a2 a3 b1", "", "a2", "b2 a4", "a1 b1 b2 a3 a4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var q Queue[string]
			add(&q, tc.first)
			q.Serve(func(v string) bool { return strings.Contains(tc.served, v) })
			for v := range strings.FieldsSeq(tc.removed) {
				assert.Assert(t, q.Remove(v))
				assert.Assert(t, !q.Remove(v))
			}
			add(&q, tc.then)
			last, ok := q.Last()
			assert.Assert(t, ok && strings.HasSuffix(tc.want, last))
			assert.Equal(t, order(&q), tc.want)
			_, ok = q.Last()
			assert.Assert(t, !ok && q.Len() == 0)
		})
	}
}

// What is remembered of principals that do not wait is bounded, however they have left.
func TestPrincipalsAreForgotten(t *testing.T) {
	for name, leave := range map[string]func(q *Queue[string], v string){
		"served":  func(q *Queue[string], _ string) { order(q) },
		"in vain": func(q *Queue[string], v string) { q.Remove(v) },
	} {
		t.Run(name, func(t *testing.T) {
			var q Queue[string]
			for i := range 1000 {
				v := fmt.Sprint(i)
				q.Add(v, v)
				leave(&q, v)
			}
			assert.Assert(t, len(q.rounds) <= 4, "%d", len(q.rounds))
		})
	}
}
