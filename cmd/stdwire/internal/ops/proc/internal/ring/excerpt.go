package ring

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/printable"
)

const halfExcerpt = 32 << 10 // bytes

// An excerpt keeps the first and the last halfExcerpt bytes written to it.
type excerpt struct {
	head []byte
	tail Ring
}

func NewExcerpt() *excerpt { return &excerpt{tail: Ring{Size: halfExcerpt}} }

func (e *excerpt) Write(p []byte) {
	n := min(len(p), halfExcerpt-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail.Write(p[n:])
}

// Text returns the bytes kept, with a line in the middle that says how many were left out.
func (e *excerpt) Text() (_ string, truncated bool) {
	if e.tail.Start() == 0 {
		return Text(append(e.head, e.tail.kept...)), false
	}
	head := printable.TrimPartialRune(e.head)
	tail := SkipPartialRune(e.tail.Slice(e.tail.Start(), e.tail.End))
	omitted := int64(len(e.head)) + e.tail.End - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", Text(head), omitted, Text(tail)),
		true
}
