package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Changes of subscribed resources are reported, also after a restart of the server.
func TestShellSubscribes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"modern", "library"} {
		notes := newNotes(t)
		s := newSession(t, words("shell", fixture(name, notes.path)...)...)
		s.expect(ready)
		s.Line(".subscribe count:1")
		assert.Equal(t, s.Line(".subscribe"), "count:1\n")
		const changed = "note: count:1 has changed\r\n"
		s.typeText(".read count:1\r")
		s.expect(changed)
		s.expect(ready)
		s.typeText(".restart\r")
		s.expect(taken)
		s.expect(ready)
		s.typeText(".read count:1\r")
		s.expect(changed)
		s.expect(ready)
		assert.Equal(t, s.Line(".unsubscribe"), "")
		assert.Equal(t, s.Line(".subscribe"), "")
		s.typeText("\x04")
		assert.Equal(t, s.wait(), 0)
	}
}

// Log messages are shown from a level on.
func TestShellLog(t *testing.T) {
	s := newSession(t, words("shell", fixture("library")...)...)
	s.expect(ready)
	s.Line(".log warning")
	s.typeText("log\r")
	s.expect("[warning] db slow query\r\n")
	s.typeText(".timeout\r") // the result may come before the message
	s.expect("5m\r\n")
	s.expect(ready)
	s.Line(".log off")
	s.typeText("log\r")
	before := s.expect("done\r\n")
	assert.Assert(t, !strings.Contains(before, "slow query"), before)
	s.expect(ready)
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
}
