package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestStatusMakesRoomForLines(t *testing.T) {
	var b bytes.Buffer
	c := &console{w: &b, terminal: true}
	c.status("one\x1b[2J\nline")
	c.status("two")
	c.printf("a %s", "line\u202e")
	c.printf("b")
	c.status("")
	assert.Equal(t, b.String(), "one line\r\x1b[Ktwo\r\x1b[Ka line\\u202e\nb\n")

	b.Reset()
	c.status(strings.Repeat("ä", 200))
	assert.Equal(t, b.String(), strings.Repeat("ä", 78)+"…")

	b.Reset()
	c = &console{w: &b}
	c.status("nobody looks")
	assert.Equal(t, b.String(), "")
}

func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		c := &console{w: &b, terminal: true}
		text := func(elapsed time.Duration) string { return fmt.Sprint("still at it ", elapsed) }

		stop := c.during(3*time.Second, text)
		time.Sleep(2999 * time.Millisecond)
		stop()
		assert.Equal(t, b.String(), "", "patience")

		stop = c.during(3*time.Second, text)
		time.Sleep(4500 * time.Millisecond)
		stop()
		assert.Equal(t, b.String(), "still at it 3s\r\x1b[Kstill at it 4s\r\x1b[K")
	})
}

// While somebody is asked there is no status, also between two prompts.
func TestStatusIsWithheld(t *testing.T) {
	var b bytes.Buffer
	c := &console{w: &b, terminal: true}
	c.status("one")
	resume := c.withhold()
	c.status("two")
	c.printf("a line")
	resume()
	c.status("three")
	assert.Equal(t, b.String(), "one\r\x1b[Ka line\nthree")
}

// On a terminal that cannot take a line away again, a long wait is told of in lines, now and then.
func TestDuringOnADumbTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		c := &console{w: &b, terminal: true, dumb: true}
		c.status("nothing")
		stop := c.during(3*time.Second, func(elapsed time.Duration) string { return fmt.Sprint("still at it ", elapsed) })
		time.Sleep(14 * time.Second)
		stop()
		assert.Equal(t, b.String(), "still at it 3s\nstill at it 13s\n")
	})
}
