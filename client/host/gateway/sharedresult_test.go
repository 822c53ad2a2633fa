package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// resultStore is a gateway.ResultStore in memory, which can fail.
type resultStore struct {
	mu      sync.Mutex
	results map[string][2]string // by principal and id
	err     error
	reads   int
}

func (s *resultStore) Put(_ context.Context, principal, id string, result, about []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.results[principal+" "+id] = [2]string{string(result), string(about)}
	}
	return s.err
}

func (s *resultStore) Get(_ context.Context, principal, id string) (result, about []byte,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if kept, ok := s.results[principal+" "+id]; ok && s.err == nil {
		return []byte(kept[0]), []byte(kept[1]), nil
	}
	return nil, nil, s.err
}

func (s *resultStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// A large result that one gateway has made is read through another one, by the tool and as a
// resource, by its principal only, and only once from what they share.
func TestSharedResult(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		var whole strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&whole, "line %d\n", i)
		}
		w.addText("log", whole.String())
		shared := &resultStore{results: map[string][2]string{}}
		limits := map[string]int{"*": 3000}
		as := func(principal, method, params string) string {
			t.Helper()
			got, err := request(t, w.as(principal), method, params)
			assert.NilError(t, err)
			return got
		}
		made := func() readOn {
			t.Helper()
			w.limited(gateway.Options{Results: shared}, limits)
			return noted(t, json.RawMessage(as("ada", "tools/call", `"name":"up__log"`)))
		}
		reading := func(principal, id string, offset int) string {
			t.Helper()
			return as(principal, "tools/call", fmt.Sprintf(
				`"name":"read_result","arguments":{"id":%q,"offset":%d,"limit":1}`, id, offset))
		}
		q := made()
		assert.Equal(t, len(shared.results), 1)
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 7), `line 7\n`))
		assert.Equal(t, shared.reads, 0, "it is kept here too")

		w.limited(gateway.Options{Results: shared}, limits) // another gateway
		assert.Check(t, cmp.Contains(reading("eve", q.ID, 7), "there is no result with this id"))
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 1500), `line 1500\n`))
		reads := shared.reads
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 1600), `line 1600\n`))
		assert.Check(t, cmp.Contains(as("ada", "resources/read",
			fmt.Sprintf(`"uri":"stdwire-result://%s"`, q.ID)), "line 1999"))
		assert.Equal(t, shared.reads, reads)
		assert.Check(t, cmp.Contains(reading("ada", "no id", 0), "there is no result with this id"))
		assert.Equal(t, shared.reads, reads, "what is no id is not looked for")

		w.limited(gateway.Options{Results: shared}, limits)
		assert.Check(t, cmp.Contains(as("ada", "resources/read",
			fmt.Sprintf(`"uri":"stdwire-result://%s?offset=3&limit=1"`, q.ID)), `line 3\n`))
		_, err := request(t, w.as("eve"), "resources/read",
			fmt.Sprintf(`"uri":"stdwire-result://%s"`, q.ID))
		assert.ErrorContains(t, err, "Resource not found")

		shared.fail(errors.New("it is down"))
		w.limited(gateway.Options{Results: shared}, limits)
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 7), "try again in a moment"))
		q = made()
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 7), `line 7\n`), "where it was made")
		shared.fail(nil)
		w.limited(gateway.Options{Results: shared}, limits)
		assert.Check(t, cmp.Contains(reading("ada", q.ID, 7), "there is no result with this id"))
	})
}
