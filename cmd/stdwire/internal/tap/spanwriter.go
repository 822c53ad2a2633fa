package tap

import (
	"io"

	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A spanWriter writes what [telemetry.Telemetry.AppendTraces] appends for all spans, span by span.
type spanWriter struct {
	t       *telemetry.Telemetry
	w       io.Writer
	empty   []byte // the document without spans
	head    int    // its length before the spans
	buf     []byte
	written bool // the head, and at least one span
	err     error
}

func newSpanWriter(t *telemetry.Telemetry, w io.Writer) *spanWriter {
	return &spanWriter{t: t, w: w, empty: t.AppendTraces(nil, nil)}
}

// add writes a span, with one Write. After an error it returns the same error again.
func (w *spanWriter) add(s *telemetry.Span) error {
	w.buf = w.t.AppendTraces(w.buf[:0], []telemetry.Span{*s})
	text := w.buf
	if !w.written {
		for w.buf[w.head] == w.empty[w.head] { // up to the first span, or the end of the list
			w.head++
		}
	} else {
		text = text[w.head-1:]
		text[0] = ','
	}
	w.written = true
	return w.write(text[:len(text)-(len(w.empty)-w.head)])
}

// close completes the document, which is invalid JSON until then.
func (w *spanWriter) close() error { return w.write(w.empty[w.head:]) }

func (w *spanWriter) write(text []byte) error {
	if w.err == nil {
		_, w.err = w.w.Write(text)
	}
	return w.err
}
