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
	assert.Equal(t, len(now.Sorted), 3)
	assert.Assert(t, now.ByKey["a"] == before.ByKey["a"])
	c.Remove("b")
	add("b")
	again := s.toolList()
	assert.Assert(t, again.ByKey["a"] == before.ByKey["a"])
	assert.Assert(t, again.ByKey["b"] != before.ByKey["b"])
}
