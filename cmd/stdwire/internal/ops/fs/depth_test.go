package fs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// deep makes nested directories, and returns the path of the innermost.
func (s *service) deep(t testing.TB, n int) string {
	t.Helper()
	name := strings.TrimSuffix(strings.Repeat("d/", n), "/")
	r, err := s.roots.instances.Get("")
	assert.NilError(t, err)
	assert.NilError(t, r.Dir.MkdirAll(name, 0o777))
	return name
}

func TestResolvingStopsWithItsContext(t *testing.T) {
	s := newService(t, nil)
	name := s.deep(t, 3)
	r, err := s.roots.instances.Get("")
	assert.NilError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Resolve(ctx, name)
	assert.ErrorIs(t, err, context.Canceled)
}

// Links lead up and down by more directories than a cursor keeps open.
func TestResolvingGoesUpAndDown(t *testing.T) {
	s := newService(t, nil)
	down := s.deep(t, 50)
	up := strings.Repeat("../", 49)
	for name, link := range map[string][2]string{
		"root/x":   {down + "/a", up + "../root"},
		"d/b":      {down + "/b", up + "b"},
		"other":    {down + "/c", up + strings.TrimPrefix(down, "d/") + "/" + up + "../other"},
		"d/file/x": {"e", "./d//file/./"},
		"d/y":      {"f", "d/file/../y"},
	} {
		s.put(t, link[0], "-> "+link[1])
		want := strings.TrimSuffix(name, "/x")
		r, err := s.roots.instances.Get("")
		assert.NilError(t, err)
		resolved, err := r.Resolve(t.Context(), link[0])
		assert.NilError(t, err, fmt.Sprint(link))
		assert.Equal(t, resolved, want)
	}
	s.put(t, "out", "-> "+down+"/"+up+"../../x")
	r, err := s.roots.instances.Get("")
	assert.NilError(t, err)
	_, err = r.Resolve(t.Context(), "out")
	assert.ErrorContains(t, r.Fail("read", "out", err), "leads outside the root")
}
