package server

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// Only the definitions of changed operations are encoded again.
func TestToolListKeepsDefinitions(t *testing.T) {
	c := dispatch.NewCatalog()
	add := func(name string) {
		dispatch.Add(c, dispatch.Spec{Name: name, Summary: "A tool.", Type: dispatch.Read},
			func(context.Context, struct{}) (string, error) { return "", nil })
	}
	add("a")
	add("b")
	s := New(Info{Name: "test", Version: "1"}, c)
	before := s.toolList()
	add("c")
	now := s.toolList()
	assert.Equal(t, len(now.sorted), 3)
	assert.Assert(t, now.byKey["a"] == before.byKey["a"])
	c.Remove("b")
	add("b")
	again := s.toolList()
	assert.Assert(t, again.byKey["a"] == before.byKey["a"])
	assert.Assert(t, again.byKey["b"] != before.byKey["b"])
}
