package proc

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/printable"
)

const halfExcerpt = 32 << 10 // bytes

// An excerpt keeps the first and the last halfExcerpt bytes written to it.
type excerpt struct {
	head []byte
	tail ring
}

func newExcerpt() *excerpt { return &excerpt{tail: ring{size: halfExcerpt}} }

func (e *excerpt) write(p []byte) {
	n := min(len(p), halfExcerpt-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail.write(p[n:])
}

// text returns the bytes kept, with a line in the middle that says how many were left out.
func (e *excerpt) text() (_ string, truncated bool) {
	if e.tail.start() == 0 {
		return text(append(e.head, e.tail.kept...)), false
	}
	head := printable.TrimPartialRune(e.head)
	tail := skipPartialRune(e.tail.slice(e.tail.start(), e.tail.end))
	omitted := int64(len(e.head)) + e.tail.end - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", text(head), omitted, text(tail)),
		true
}
