package framing

import (
	"errors"
	"io"
	"sync/atomic"
)

// Auto uses the framing of the other side. A byte order mark at the start of the stream is skipped.
// The first bytes after it that are not white space decide, once, which of [Formats] that is:
//
//	Content-...    (in any case)  ContentLength
//	anything else                 Newline
//
// JSON text never starts with Content-, and a Content-Length frame always does, because the only
// headers are Content-Length and Content-Type. Any other first line, such as a greeting, is a
// newline frame, so that it can be answered as a malformed message.
//
// AppendFrame uses the same framing. Until the first bytes arrive, it appends newline frames.
func Auto(r io.Reader, l Limits) Codec {
	a := &auto{source: newSource(r, l)}
	a.use(&formats[0])
	return a
}

const headerPrefix = "Content-"

type auto struct {
	*source
	decided bool                  // accessed only by the reading goroutine
	codec   atomic.Pointer[Codec] // set before decided
}

func (a *auto) use(f *Format) {
	codec := f.Framing(a.source, a.limits)
	a.codec.Store(&codec)
}

func (a *auto) current() Codec { return *a.codec.Load() }

func (a *auto) ReadFrame(dst []byte) ([]byte, error) {
	if !a.decided && a.err == nil {
		if err := a.decide(); err != nil {
			return dst[:0], a.end(err)
		}
	}
	return a.current().ReadFrame(dst)
}

func (a *auto) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	return a.current().AppendFrame(dst, parts...)
}

func (a *auto) FinishFrame(payload []byte) ([]byte, error) {
	if f, ok := a.current().(Finisher); ok {
		return f.FinishFrame(payload)
	}
	return payload, errors.ErrUnsupported
}

func (a *auto) decide() error {
	if err := a.begin(); err != nil {
		return err
	}
	for {
		first, err := a.br.Peek(1)
		if err != nil {
			return err
		}
		if !isSpace(first[0]) {
			break
		}
		if _, err := a.br.Discard(1); err != nil {
			return err
		}
	}
	f, err := a.detect(formats)
	if f != nil {
		a.use(f)
	}
	a.decided = err == nil
	return err
}
