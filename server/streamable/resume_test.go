package streamable_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

// A stream that was cut goes on where it was, also behind the response, and with nothing of another
// stream.
func TestResumption(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	a := c.call("1", "steps", "x", "").isStream()
	first, _ := a.next()
	assert.Equal(t, first.data, "")
	assert.Assert(t, first.id != "" && first.kind == "" && first.retry == "")
	one := a.event("one")
	a.event("two")
	a.Body.Close()
	<-s.begun
	other := c.call("2", "echo", "x", "-Accept\nAccept: text/event-stream").isStream()
	other.next()
	other.event(`"id":2`)

	b := c.get(header("Last-Event-Id: " + one.id)).isStream()
	two := b.event("two")
	s.release <- struct{}{}
	b.event("three")
	last := b.event(`"id":1,"result"`)
	b.ends()
	assert.Assert(t, two.id != last.id)

	again := c.get(header("Last-Event-Id: " + first.id)).isStream()
	for _, want := range []string{"one", "two", "three", `"id":1,"result"`} {
		again.event(want)
	}
	again.ends()
	c.get(header("Last-Event-Id: " + last.id)).isStream().ends()
	// Ids mean nothing in another session.
	assert.Equal(t, s.connect("2025-11-25", "").get(header("Last-Event-Id: "+one.id)).StatusCode,
		400)
}

// A client that comes back for a stream before the server has noticed that it left takes it over.
func TestResumptionTakesOver(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	a := c.call("1", "steps", "x", "").isStream()
	one := a.event("one")
	a.event("two")
	b := c.get(header("Last-Event-Id: " + one.id)).isStream()
	a.ends()
	b.event("two")
	<-s.begun
	s.release <- struct{}{}
	b.event("three")
	b.event(`"id":1,"result"`)
	b.ends()
}

func TestResumptionOfItsOwnStream(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-06-18", "")
	a := c.get("").isStream()
	s.changeTools("a")
	e := a.event("list_changed")
	// takes over, so that nothing is lost in between
	b := c.get(header("Last-Event-Id: " + e.id)).isStream()
	a.ends()
	s.changeTools("b")
	b.event("list_changed")
}

// What is kept is bounded: in events and bytes of a session, and bytes of all. What is gone is said
// to be.
func TestEventsAreBounded(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for name, o := range map[string]streamable.Options{
		"events": {MaxEvents: 3},
		"bytes":  {MaxEventBytes: 5 << 10},
		"all":    {MaxStored: 5 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, o)
			c := s.connect("2025-06-18", "")
			var ids []string
			for i := range 6 {
				a := c.call(fmt.Sprint(i+1), "echo", text,
					"-Accept\nAccept: text/event-stream").isStream()
				ids = append(ids, a.event("result").id)
				a.ends()
			}
			newest, oldest := ids[5], ids[0]
			c.get(header("Last-Event-Id: " + newest)).isStream().ends()
			before := strings.TrimSuffix(newest, "1") + "0"
			c.get(header("Last-Event-Id: " + before)).isStream().event("result")
			c.get(header("Last-Event-Id: "+oldest)).wants(400,
				`{"jsonrpc":"2.0","error":{"code":-32600,"message":"the events after \"`+
					oldest+`\" are not stored; reconnect without Last-Event-ID"}}`)
		})
	}
}

// A request that takes long has the client come back for the answer, as often as it takes
// (2025-11-25, basic/transports, Sending Messages to the Server).
func TestPolling(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	a := c.call("1", "poll", "x", "").isStream()
	first, _ := a.next()
	assert.Assert(t, first.id != "" && first.data == "" && first.kind == "")
	retry, _ := a.next()
	assert.DeepEqual(t, retry.retry, "20")
	a.ends()
	<-s.begun
	b := c.get(header("Last-Event-Id: " + first.id)).isStream()
	close(s.release)
	b.event(`"id":1,"result"`)
	b.ends()
	// Where clients do not know of it, nothing happens.
	for _, a := range []*answer{s.connect("2025-06-18", "").call("1", "poll", "x", ""),
		s.tool("poll", `{"text":"x"}`, ""),
		c.call("2", "poll", "x", "-Accept\nAccept: application/json")} {
		text := a.text()
		assert.Equal(t, a.Header.Get("Content-Type"), "application/json")
		assert.Assert(t, strings.Contains(text, `"success":false`), text)
	}
}

// The answer may be there before the client is back.
func TestPollingLate(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	a := c.call("1", "poll", "x", "").isStream()
	first, _ := a.next()
	a.next()
	a.ends()
	close(s.release)
	for c.call("1", "echo", "x", "").StatusCode != 200 { // until its id is free again
	}
	c.get(header("Last-Event-Id: " + first.id)).isStream().event(`"id":1,"result"`)
}

// All ids of a session's events differ.
func TestEventIDsMustBeUnique(t *testing.T) {
	s := start(t, streamable.Options{})
	c := s.connect("2025-11-25", "")
	seen := map[string]bool{}
	for range 5 {
		a := c.call("1", "echo", "x", "-Accept\nAccept: text/event-stream").isStream()
		for e, ok := a.next(); ok; e, ok = a.next() {
			assert.Assert(t, e.id != "" && !seen[e.id])
			seen[e.id] = true
		}
	}
	assert.Equal(t, len(seen), 10)
}
