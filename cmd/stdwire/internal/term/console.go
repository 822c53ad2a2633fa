package term

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
)

// A Console is stderr: lines, and on a terminal below them one more that says what is going on and makes room for whatever comes next, or that a person types
// behind. It is safe for concurrent use.
type Console struct {
	Terminal bool
	Dumb     bool // it is a terminal that only shows lines: a status would stay

	mu       sync.Mutex
	W        io.Writer
	shown    bool   // the status
	withheld bool   // there is no status, because somebody is asked
	asking   string // the prompt that somebody types behind; there is no status then either
}

const Width = 80 // of a line, in characters

// Write prints lines.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	if c.asking == "" {
		return c.W.Write(p)
	}
	_, _ = io.WriteString(c.W, "\n")
	n, err := c.W.Write(p)
	_, _ = io.WriteString(c.W, c.asking)
	return n, err
}

// prompt shows what an answer is to be typed behind. Until answered is called, lines come above it.
func (c *Console) prompt(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.asking = printable.Line(text) + " "
	_, _ = io.WriteString(c.W, c.asking)
}

// answered ends a prompt. If somebody has typed a whole line, the line end is there already.
func (c *Console) answered(wholeLine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = ""
	if !wholeLine {
		_, _ = io.WriteString(c.W, "\n")
	}
}

// Printf prints a line. It may hold foreign text.
func (c *Console) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(c, "%s\n", printable.Text(fmt.Sprintf(format, args...))) // there is nowhere to complain of stderr
}

// Withhold keeps the status away until resume is called.
func (c *Console) Withhold() (resume func()) {
	set := func(withheld bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.erase()
		c.withheld = withheld
	}
	set(true)
	return func() { set(false) }
}

// Status replaces the status; "" takes it away. Without a terminal that can take it away there is
// none.
func (c *Console) Status(text string) {
	if !c.Terminal || c.Dumb {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	if text != "" && c.asking == "" && !c.withheld {
		c.shown = true
		_, _ = io.WriteString(c.W, printable.TruncateRunes(printable.Line(text), Width-1))
	}
}

func (c *Console) erase() {
	if c.shown {
		c.shown = false
		_, _ = io.WriteString(c.W, "\r\x1b[K")
	}
}

// During shows a status from after on, every second anew, until stop is called. A dumb terminal is
// shown lines, every ten seconds.
func (c *Console) During(after time.Duration, text func(elapsed time.Duration) string) (stop func()) {
	if !c.Terminal {
		return func() {}
	}
	show, again := c.Status, time.Second
	if c.Dumb {
		show, again = func(text string) {
			if text != "" {
				c.Printf("%s", text)
			}
		}, 10*time.Second
	}
	began, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(after)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				show(text(time.Since(began)))
				timer.Reset(again)
			case <-end:
				show("")
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
