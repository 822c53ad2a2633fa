package framing

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// Auto uses the framing of the other side. A byte order mark at the start of the stream is skipped.
// The first bytes after it that are not white space decide, once:
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
	s := newSource(r, l)
	return &auto{source: s, newline: newline{s}, contentLength: contentLength{s}}
}

const headerPrefix = "Content-"

type auto struct {
	*source
	newline       newline
	contentLength contentLength
	decided       bool        // accessed only by the reading goroutine
	byLength      atomic.Bool // set once, before decided
}

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
	if a.byLength.Load() {
		return payload, errors.ErrUnsupported
	}
	return a.newline.FinishFrame(payload)
}

func (a *auto) current() Codec {
	if a.byLength.Load() {
		return &a.contentLength
	}
	return &a.newline
}

// decide waits for as few bytes as needed, so that a short first line is not delayed.
func (a *auto) decide() error {
	if err := a.begin(); err != nil {
		return err
	}
	for n := 1; ; {
		first, err := a.br.Peek(n)
		switch {
		case err != nil && (err != io.EOF || n == 1):
			return err
		case err == nil && n == 1 && isSpace(first[0]):
			if _, err := a.br.Discard(1); err != nil {
				return err
			}
			continue
		case err == nil && bytes.EqualFold(first, []byte(headerPrefix[:n])):
			if n++; n <= len(headerPrefix) {
				continue
			}
			a.byLength.Store(true)
		}
		a.decided = true
		return nil
	}
}
