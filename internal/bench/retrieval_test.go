package main

import (
	"testing"

	"gotest.tools/v3/assert"
)

// On the corpora that are committed, no other ranker finds more.
func TestRetrieval(t *testing.T) {
	all, err := corpora("")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 2)
	for _, c := range all {
		var ours float64
		for i, r := range rankers {
			m := measureRecall(c, r)
			t.Logf("%s: %s: %.3f %s", m.what, m.program, m.value, m.extra)
			if i == 0 {
				ours = m.value
			}
			assert.Assert(t, m.value > .5 && m.value <= ours)
		}
	}
}

// The words and stems are those of the paper.
func TestPorter(t *testing.T) {
	for word, stem := range map[string]string{
		"caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre",
		"plastered": "plaster", "motoring": "motor", "sing": "sing", "conflated": "conflat",
		"sized": "size", "hopping": "hop", "falling": "fall", "filing": "file", "happy": "happi",
		"sky": "sky", "relational": "relat", "conditional": "condit", "vietnamization": "vietnam",
		"triplicate": "triplic", "electrical": "electr", "hopefulness": "hope",
		"allowance": "allow", "adjustment": "adjust", "adoption": "adopt", "effective": "effect",
		"probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control",
	} {
		assert.Equal(t, porter(word), stem, word)
	}
}
