package dispatch_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func TestInstancesGet(t *testing.T) {
	with, err := dispatch.NewInstances("main", map[string]int{"main": 1, "alt": 2})
	assert.NilError(t, err)
	without, err := dispatch.NewInstances("", map[string]int{"main": 1, "alt": 2})
	assert.NilError(t, err)
	none, err := dispatch.NewInstances[int]("", nil)
	assert.NilError(t, err)
	for _, tc := range []struct {
		instances *dispatch.Instances[int]
		name      string
		want      int
		message   string
		names     []string
	}{
		{with, "", 1, "", nil},
		{with, "main", 1, "", nil},
		{with, "alt", 2, "", nil},
		{with, "Main", 0, `no instance "Main"; want one of alt, main`, []string{"alt", "main"}},
		{without, "alt", 2, "", nil},
		{without, "", 0, "no instance was named, and there is no default; want one of alt, main",
			[]string{"alt", "main"}},
		{none, "", 0, "no instance was named, and there is no default; there are no instances",
			[]string{}},
		{none, "a", 0, `no instance "a"; there are no instances`, []string{}},
	} {
		got, err := tc.instances.Get(tc.name)
		assert.Equal(t, got, tc.want)
		if tc.message == "" {
			assert.NilError(t, err)
			continue
		}
		assert.Assert(t, errors.Is(err, dispatch.UnknownInstance))
		e, _ := errors.AsType[*dispatch.Error](err)
		assert.Equal(t, e.Message, tc.message)
		assert.DeepEqual(t, e.Details, map[string]any{"instances": tc.names})
	}
	assert.Equal(t, with.Default(), "main")
	assert.DeepEqual(t, with.Names(), []string{"alt", "main"})
}

func TestNewInstancesCopiesTheMap(t *testing.T) {
	named := map[string]int{"a": 1}
	s, err := dispatch.NewInstances("a", named)
	assert.NilError(t, err)
	delete(named, "a")
	s.Names()[0] = "b"
	_, err = s.Get("a")
	assert.NilError(t, err)
	assert.DeepEqual(t, s.Names(), []string{"a"})
}

func TestNewInstancesRefuses(t *testing.T) {
	_, err := dispatch.NewInstances("b", map[string]int{"a": 1})
	assert.ErrorContains(t, err, `default instance "b" is not among`)
	for _, name := range []string{"", "a b", "a.b", "ä"} {
		_, err = dispatch.NewInstances("", map[string]int{name: 1})
		assert.ErrorContains(t, err, "want letters")
	}
}
