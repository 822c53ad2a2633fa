// Package term is the standard input, output and error of the program: safe output on a terminal,
// the status line, and questions to the person at the terminal.
package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// A Console is standard error. It prints lines and, on a terminal, a status or a prompt below them,
// which it moves down when a line is printed. It is safe for concurrent use.
type Console struct {
	W io.Writer
	Display

	mu           sync.Mutex
	status       terminal.StatusLine
	statusHidden bool   // no status may be shown, because a question is being asked
	promptText   string // the prompt that an answer is typed after; "" if none is shown
}

// Write prints lines. A prompt is printed again below them.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Erase(c.W, c.Columns().Total())
	if c.promptText == "" {
		return c.W.Write(p)
	}
	_, _ = io.WriteString(c.W, "\n")
	n, err := c.W.Write(p)
	_, _ = io.WriteString(c.W, c.promptText)
	return n, err
}

// prompt prints the prompt of a question. Until endPrompt is called, lines appear above it.
func (c *Console) prompt(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Erase(c.W, c.Columns().Total())
	c.promptText = printable.Line(text) + " "
	_, _ = io.WriteString(c.W, c.promptText)
}

// endPrompt ends a prompt. wholeLine reports that a line was typed, whose end is on the screen
// already.
func (c *Console) endPrompt(wholeLine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.promptText = ""
	if !wholeLine {
		_, _ = io.WriteString(c.W, "\n")
	}
}

// Printf prints a line. Control characters in it are escaped. If the format begins with a word and
// a colon, such as "warning: ", the word has its style; see [StyleOf].
func (c *Console) Printf(format string, args ...any) {
	label, _, _ := strings.Cut(format, ": ") // of the format: a server may have chosen the text
	c.PrintLabeled(label, StyleOf(label), fmt.Sprintf(format, args...))
}

// PrintLabeled is Printf for text that begins with label, which it prints in a style. On a
// terminal, an error, a warning or a note is wrapped, but no hint: it may end in a command that is
// copied.
func (c *Console) PrintLabeled(label string, style terminal.Style, text string) {
	text = printable.Text(text)
	if c.Terminal && style != terminal.Plain && label != "hint" {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = c.Columns().WrapLine(line, 2)
		}
		text = strings.Join(lines, "\n")
	}
	if rest, ok := strings.CutPrefix(text, label); ok && c.Color {
		text = style.Paint(label) + rest
	}
	_, _ = io.WriteString(c, text+"\n") // an error of stderr cannot be reported
}

// HideStatus removes the status and shows none until resume is called.
func (c *Console) HideStatus() (resume func()) {
	set := func(hidden bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.status.Erase(c.W, c.Columns().Total())
		c.statusHidden = hidden
	}
	set(true)
	return func() { set(false) }
}

// Status replaces the status; "" removes it. It does nothing unless standard error is a terminal
// that can erase a line.
func (c *Console) Status(text string) {
	if !c.Terminal || c.Dumb {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == "" || c.promptText != "" || c.statusHidden {
		c.status.Erase(c.W, c.Columns().Total())
		return
	}
	c.status.Show(c.W, c.Columns().Total(), text)
}

// StatusAfter shows a status from after on and updates it every second, until stop is called. On a
// dumb terminal it prints a line every ten seconds.
func (c *Console) StatusAfter(after time.Duration,
	text func(elapsed time.Duration) string) (stop func()) {
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
