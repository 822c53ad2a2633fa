package framing

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"sync"
)

const (
	// idleBuffer is the size of the buffer of a connection that waits for a message.
	idleBuffer = 4 << 10
	// readBuffer is how much a codec reads ahead while more arrives: the usual capacity of a pipe.
	readBuffer = 64 << 10
)

// readBuffers has buffers of readBuffer bytes.
var readBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// A readAhead reads ahead. Its methods are those of a [bufio.Reader], but its memory grows as more
// arrives than it holds, and is given back when all of that has been read. So many connections that
// wait take little.
type readAhead struct {
	in         io.Reader
	size       int    // of the buffer if that has grown, or more
	idle       []byte // of idleBuffer bytes; nil: not needed yet
	buf        []byte // idle, or larger
	start, end int    // of the unread part of buf
	more       bool   // the last Read has filled its buffer, so that more may have arrived
	err        error  // of in, to be returned after the unread part
}

func newReadAhead(in io.Reader, size int) *readAhead {
	return &readAhead{in: in, size: max(readBuffer, size)}
}

// Buffered returns the number of bytes that can be read without blocking.
func (a *readAhead) Buffered() int { return a.end - a.start }

// fill reads once. What is unread must be less than the size.
func (a *readAhead) fill() {
	buf := a.buf
	switch full := len(a.buf) > 0 && a.Buffered() == len(a.buf); {
	case (full || a.more) && len(a.buf) < a.size:
		buf = a.grown()
	case a.Buffered() == 0 && !a.more:
		if a.idle == nil {
			a.idle = make([]byte, idleBuffer)
		}
		buf = a.idle
	}
	a.replace(buf)
	var n int
	n, a.err = readSome(a.in, a.buf[a.end:])
	a.end += n
	a.more = a.end == len(a.buf)
}

// grown returns a buffer of the size.
func (a *readAhead) grown() []byte {
	if a.size > readBuffer {
		return make([]byte, a.size)
	}
	return readBuffers.Get().(*[readBuffer]byte)[:]
}

// replace moves what is unread to the beginning of buf, and makes that the buffer.
func (a *readAhead) replace(buf []byte) {
	n := copy(buf, a.buf[a.start:a.end])
	if len(a.buf) == readBuffer && &a.buf[0] != &buf[0] {
		readBuffers.Put((*[readBuffer]byte)(a.buf))
	}
	a.buf, a.start, a.end = buf, 0, n
}

// readSome reads at least one byte, unless there is an error.
func readSome(in io.Reader, p []byte) (n int, err error) {
	for range 100 { // as often as package bufio
		if n, err = in.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// takeErr returns the error of the last Read once.
func (a *readAhead) takeErr() error {
	err := a.err
	a.err = nil
	return err
}

// Peek returns the next n bytes, which must not be more than the size of the buffer, without
// reading them. If it returns fewer, it returns the reason. They are valid until the next read.
func (a *readAhead) Peek(n int) ([]byte, error) {
	for a.Buffered() < n && a.err == nil {
		a.fill()
	}
	if a.Buffered() < n {
		return a.buf[a.start:a.end], a.takeErr()
	}
	return a.buf[a.start : a.start+n], nil
}

// Discard reads n bytes. If it reads fewer, it returns the reason.
func (a *readAhead) Discard(n int) (discarded int, err error) {
	for {
		part := min(a.Buffered(), n-discarded)
		a.start += part
		switch discarded += part; {
		case discarded == n:
			return n, nil
		case a.err != nil:
			return discarded, a.takeErr()
		}
		a.fill()
	}
}

// ReadSlice reads up to a delimiter, inclusively. The error is [bufio.ErrBufferFull] if there is
// none in a full buffer. The slice is valid until the next read.
func (a *readAhead) ReadSlice(delimiter byte) (line []byte, err error) {
	for searched := 0; ; {
		unread := a.buf[a.start:a.end]
		if i := bytes.IndexByte(unread[searched:], delimiter); i >= 0 {
			a.start += searched + i + 1
			return unread[:searched+i+1], nil
		}
		full := len(unread) == len(a.buf) && len(unread) >= a.size
		if full || a.err != nil {
			if a.start, err = a.end, a.takeErr(); err == nil {
				err = bufio.ErrBufferFull
			}
			return unread, err
		}
		searched = len(unread)
		a.fill()
	}
}

// readInto is ReadSlice after [bufio.ErrBufferFull]. It reads once, into p, which has room for an
// idle buffer at least, and keeps what follows the delimiter.
func (a *readAhead) readInto(p []byte, delimiter byte) (line []byte, err error) {
	if a.err != nil {
		return nil, a.takeErr()
	}
	n, err := readSome(a.in, p[:min(len(p), a.size)])
	a.more = n == min(len(p), a.size)
	i := bytes.IndexByte(p[:n], delimiter)
	switch {
	case i < 0 && err == nil:
		return p[:n], bufio.ErrBufferFull
	case i < 0:
		return p[:n], err
	}
	rest := p[i+1 : n]
	if len(rest) > len(a.buf) {
		a.replace(a.grown())
	}
	a.start, a.end, a.err = 0, copy(a.buf, rest), err
	return p[:i+1], nil
}

// Read reads what has been read ahead, or else at most once: into p, if that is not smaller than an
// idle buffer.
func (a *readAhead) Read(p []byte) (n int, err error) {
	if a.Buffered() == 0 && a.err == nil {
		if len(p) >= idleBuffer {
			a.more = false
			return readSome(a.in, p)
		}
		a.fill()
	}
	if a.Buffered() == 0 {
		return 0, a.takeErr()
	}
	n = copy(p, a.buf[a.start:a.end])
	a.start += n
	return n, nil
}

// unread makes text the next bytes, before those that have been read ahead.
func (a *readAhead) unread(text []byte) {
	joined := slices.Concat(text, a.buf[a.start:a.end])
	a.start = a.end
	a.replace(joined)
	a.end, a.more = len(joined), false
}
