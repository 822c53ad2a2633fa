package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestTypist(t *testing.T) {
	var b bytes.Buffer
	p := NewLineReader(strings.NewReader("one\r\n\n"+strings.Repeat("x", 70<<10)+"\nthree\nhalf"),
		&Console{W: &b, Display: Display{Terminal: true}}, func() {})
	for i, want := range []string{"one", "", "", "three"} {
		text, err := p.Line(t.Context(), "?")
		if i == 2 {
			assert.ErrorContains(t, err, "buffer full") // and nothing is left of it
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, text, want)
	}
	for range 2 {
		_, err := p.Line(t.Context(), "?")
		assert.Equal(t, err, io.EOF, "a line without its end is none")
	}
	assert.Equal(t, b.String(), "? ? ? \n? ? \n? \n")
}

// What is typed while a question is given up is no answer to the next one.
func TestLineBegunBefore(t *testing.T) {
	in, typing := io.Pipe()
	defer in.Close()
	var b bytes.Buffer
	p := NewLineReader(in, &Console{W: &b, Display: Display{Terminal: true}}, func() {})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err := p.Line(ctx, "first?")
	assert.Equal(t, err, gone)
	go func() { _, _ = io.WriteString(typing, "yes\nno\n") }()
	text, err := p.Line(t.Context(), "second?")
	assert.NilError(t, err)
	assert.Equal(t, text, "no")
	assert.Equal(t, b.String(),
		"first? \nsecond? That line may have been typed for an earlier question. Please type it again.\nsecond? ")
}

func TestLinesComeAboveAPrompt(t *testing.T) {
	var b bytes.Buffer
	c := &Console{W: &b, Display: Display{Terminal: true}}
	c.Status("busy")
	c.prompt("Name [\x1b[2Ja\nb] >")
	c.Status("still busy")
	c.Printf("log")
	c.endPrompt(true)
	c.Status("busy")
	assert.Equal(t, b.String(), "busy\r\x1b[KName [a b] > \nlog\nName [a b] > busy")
}
