package web

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/traffic"
)

// The URIs of updates, and the params of questions that wait, are bounded.
func TestUpdatesAndQuestionsAreBounded(t *testing.T) {
	changes := changes.New()
	q := newQuestions(changes)
	q.callOn = func(string) int64 { return 0 }
	s := newServers(changes, traffic.New(changes), q)
	for range 10 {
		s.updated("a", strings.Repeat("u", 300_000))
	}
	assert.Equal(t, len(s.latest()), 3)
	_, err := q.add(&question{Server: "a", Params: make([]byte, 5<<20)})
	assert.NilError(t, err)
	_, err = q.add(&question{Server: "a", Params: make([]byte, 5<<20)})
	assert.ErrorIs(t, err, errTooManyQuestions)
	_, err = q.add(&question{Server: "b", Params: make([]byte, 5<<20)})
	assert.NilError(t, err)
}
