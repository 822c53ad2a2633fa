package lineedit

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

func TestPlainLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		in   io.Reader
		want []any // lines, and then an error
	}{
		"lines": {strings.NewReader("a\n\n\x1b[A\tb \r\nc"),
			[]any{"a", "", "\x1b[A\tb \r", "c", io.EOF}},
		"nothing": {strings.NewReader(""), []any{io.EOF}},
		"long":    {strings.NewReader(long + "\nb\n"), []any{long, "b", io.EOF}},
		"too long": {strings.NewReader(long + "x\nb\n" + long + "yz"),
			[]any{ErrTooLong, "b", ErrTooLong, io.EOF}},
		"broken": {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)),
			[]any{"a", broken}},
		"bit by bit": {iotest.OneByteReader(strings.NewReader("a\nb")), []any{"a", "b", io.EOF}},
	} {
		var out strings.Builder
		e := New(c.in, &out, Options{})
		for _, want := range c.want {
			line, err := e.ReadLine(t.Context(), "> ")
			if err != nil {
				assert.Assert(t, errors.Is(err, want.(error)), "%s: %v", name, err)
				continue
			}
			assert.Equal(t, line, want, name)
		}
		assert.Equal(t, out.String(), "", "there is no prompt")
		assert.NilError(t, e.Close())
	}
}

func TestPlainLineThatNeverComes(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	e := New(r, io.Discard, Options{})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = w.Write([]byte("half a line"))
		cancel(why)
	}()
	_, err := e.ReadLine(ctx, "> ")
	assert.Equal(t, err, why)
	_, err = e.ReadLine(ctx, "> ")
	assert.Equal(t, err, why)
}
