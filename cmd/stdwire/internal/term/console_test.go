package term

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
	c := &Console{W: &b, Display: Display{Terminal: true}}
	c.Status("one\x1b[2J\nline")
	c.Status("two")
	c.Printf("a %s", "line\u202e")
	c.Printf("b")
	c.Status("")
	assert.Equal(t, b.String(), "one line\r\x1b[Ktwo\r\x1b[Ka line\\u202e\nb\n")

	b.Reset()
	c.Status(strings.Repeat("ä", 200))
	assert.Equal(t, b.String(), strings.Repeat("ä", 78)+"…")

	b.Reset()
	c = &Console{W: &b}
	c.Status("nobody looks")
	assert.Equal(t, b.String(), "")
}

func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		c := &Console{W: &b, Display: Display{Terminal: true}}
		text := func(elapsed time.Duration) string { return fmt.Sprint("still at it ", elapsed) }

		stop := c.StatusAfter(3*time.Second, text)
		time.Sleep(2999 * time.Millisecond)
		stop()
		assert.Equal(t, b.String(), "", "patience")

		stop = c.StatusAfter(3*time.Second, text)
		time.Sleep(4500 * time.Millisecond)
		stop()
		assert.Equal(t, b.String(), "still at it 3s\r\x1b[Kstill at it 4s\r\x1b[K")
	})
}

// While somebody is asked there is no status, also between two prompts.
func TestStatusIsWithheld(t *testing.T) {
	var b bytes.Buffer
	c := &Console{W: &b, Display: Display{Terminal: true}}
	c.Status("one")
	resume := c.HideStatus()
	c.Status("two")
	c.Printf("a line")
	resume()
	c.Status("three")
	assert.Equal(t, b.String(), "one\r\x1b[Ka line\nthree")
}

// On a terminal that cannot take a line away again, a long wait is told of in lines, now and then.
func TestDuringOnADumbTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		c := &Console{W: &b, Display: Display{Terminal: true, Dumb: true}}
		c.Status("nothing")
		stop := c.StatusAfter(3*time.Second, func(elapsed time.Duration) string {
			return fmt.Sprint("still at it ", elapsed)
		})
		time.Sleep(14 * time.Second)
		stop()
		assert.Equal(t, b.String(), "still at it 3s\nstill at it 13s\n")
	})
}
