//go:build linux

package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestScale(t *testing.T) {
	all, err := measureScales(time.Millisecond, 10)
	assert.NilError(t, err)
	for _, want := range []struct{ things, cost string }{
		{"tools", "add one"},
		{"tools", "tools/call"},
		{"tools", "tools/call, p99"},
		{"tools", "change, then tools/call"},
		{"tools", "tools/list, all pages"},
		{"resources", "resources/read"},
		{"resources", "change, then resources/read"},
		{"templates", "resources/read"},
		{"subscriptions, legacy", "notifications/resources/updated"},
		{"subscriptions, modern", "notifications/resources/updated"},
		{"HTTP sessions", "tools/call"},
		{"calls in flight", "tools/call"},
		{"connections", "tools/call"},
		{"connections", "notifications/resources/updated"},
		{"upstreams", "tools/call"},
		{"upstreams", "tools/list, all pages"},
		{"KiB of an argument", "tools/call"},
	} {
		for _, n := range []int{1, 10} {
			what := fmt.Sprintf("%d %s: %s", n, want.things, want.cost)
			if !slices.ContainsFunc(all, func(m measure) bool {
				return m.what == what && m.value > 0
			}) {
				t.Errorf("there is no row %q", what)
			}
		}
	}
	g := growthOf(all)
	assert.NilError(t, g.check())
	checkSVG(t, g.svg())
	assert.DeepEqual(t, g.Charts[0].Name, "add one")
	assert.Equal(t, len(g.Charts[0].Lines), len(scales))
	for _, m := range all {
		n, things, cost, ok := parseScaleRow(m.what)
		assert.Assert(t, ok, m.what)
		assert.Equal(t, scaleRow(n, things, cost), m.what)
	}
}
