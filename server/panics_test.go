package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Defects G2 and M5 of other implementations: a panic in a tool ends the process, or gets no
// response; in a resource or a prompt it ends the process.
func TestG2PanicsAreAnswered(t *testing.T) {
	s := everywhere(quiet, func(context.Context) (string, error) { panic("secret") })
	inPlaces(t, func(t *testing.T, p place) {
		in(t, allRevisions, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{}`)
			m := k.request(p.method, p.params)
			assert.Equal(t, string(m.ID), fmt.Sprint(k.id))
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
			if p == places["operation"] {
				assert.Assert(t, strings.Contains(m.raw, `internal_error`), m.raw)
			} else {
				m.fails(-32603, "Internal error")
			}
			k.expectNothing()
		})
	})
}
