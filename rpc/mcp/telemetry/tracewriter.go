package telemetry

import "io"

// A TraceWriter writes an ExportTraceServiceRequest of OTLP in JSON span by span, for more spans
// than should be in memory together. It is not safe for concurrent use.
type TraceWriter struct {
	t       *Telemetry
	w       io.Writer
	encoder spanEncoder
	buf     []byte
	written bool // the head, and at least one span
	err     error
}

// NewTraceWriter returns a TraceWriter to w. It writes nothing before the first span or Close.
func (t *Telemetry) NewTraceWriter(w io.Writer) *TraceWriter { return &TraceWriter{t: t, w: w} }

// Write writes a span, with one call of Write of the underlying writer. After an error it returns
// the same error again.
func (w *TraceWriter) Write(s *Span) error {
	if w.written {
		w.buf = append(w.buf[:0], ',')
	} else {
		w.buf = w.t.appendTracesHead(w.buf[:0])
	}
	w.written = true
	w.buf = w.encoder.append(w.buf, s)
	return w.flush()
}

// Close completes the request, which is invalid JSON until then. It does not close the underlying
// writer. Nothing can be written after it.
func (w *TraceWriter) Close() error {
	w.buf = w.buf[:0]
	if !w.written {
		w.buf = w.t.appendTracesHead(w.buf)
	}
	w.buf = append(w.buf, otlpTail...)
	return w.flush()
}

func (w *TraceWriter) flush() error {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
	return w.err
}
