package redis

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
)

// A Reply is a value of RESP3.
type Reply struct {
	kind  byte   // the byte that began it; '_' for null
	text  []byte // of strings, errors and numbers
	items []Reply
}

// Err returns the [Error] that the server replied with, or nil.
func (r Reply) Err() error {
	if r.kind == '-' || r.kind == '!' {
		return Error(r.text)
	}
	return nil
}

// IsNull reports whether the reply is null.
func (r Reply) IsNull() bool { return r.kind == '_' }

// Bytes returns a string. It is nil for null.
func (r Reply) Bytes() ([]byte, error) {
	switch r.kind {
	case '$', '+', '=':
		return r.text, nil
	case '_':
		return nil, nil
	}
	return nil, r.unexpected("a string")
}

// Int returns an integer.
func (r Reply) Int() (int64, error) {
	if r.kind != ':' {
		return 0, r.unexpected("an integer")
	}
	return strconv.ParseInt(string(r.text), 10, 64) // the reader has checked it
}

// Items returns the elements of an array or set, and the keys and values of a map in turn. It is
// nil for null.
func (r Reply) Items() ([]Reply, error) {
	switch r.kind {
	case '*', '~', '%':
		return r.items, nil
	case '_':
		return nil, nil
	}
	return nil, r.unexpected("an array")
}

func (r Reply) unexpected(want string) error {
	if err := r.Err(); err != nil {
		return err
	}
	return fmt.Errorf("redis: the reply is of type %q, want %s", r.kind, want)
}

const (
	maxDepth = 16
	maxLine  = 64 << 10 // of errors, simple strings and numbers
	// itemCost is what an item counts besides its text: about what it takes in memory.
	itemCost = 64
)

// A reader reads replies. What one takes in memory is bounded.
type reader struct {
	b    *bufio.Reader
	max  int64 // bytes of a reply
	room int64 // what is left for this one
}

func newReader(r io.Reader, limit int64) *reader {
	return &reader{b: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// read returns the next reply or push. Any error is final. It is io.EOF only between two replies.
func (r *reader) read() (Reply, error) {
	if _, err := r.b.Peek(1); err != nil {
		return Reply{}, err
	}
	r.room = r.max
	reply, err := r.value(maxDepth)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return reply, err
}

func (r *reader) take(n int64) error {
	if n > r.room {
		return fmt.Errorf("%w: a reply has more than %d bytes", errProtocol, r.max)
	}
	r.room -= n
	return nil
}

func (r *reader) value(depth int) (Reply, error) {
	if depth == 0 {
		return Reply{}, fmt.Errorf("%w: a reply is nested more than %d deep", errProtocol, maxDepth)
	}
	line, err := r.line()
	if err != nil {
		return Reply{}, err
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', '-', ',', '(':
		return Reply{kind: kind, text: bytes.Clone(rest)}, nil
	case ':':
		if _, err := strconv.ParseInt(string(rest), 10, 64); err != nil {
			return Reply{}, malformed(line)
		}
		return Reply{kind: kind, text: bytes.Clone(rest)}, nil
	case '#':
		if string(rest) != "t" && string(rest) != "f" {
			return Reply{}, malformed(line)
		}
		return Reply{kind: kind, text: bytes.Clone(rest)}, nil
	case '_':
		return Reply{kind: kind}, nil
	case '$', '=', '!':
		n, err := r.length(line)
		if err != nil || n < 0 {
			return Reply{kind: '_'}, err
		}
		text, err := r.text(n)
		if kind == '=' && err == nil { // its first four bytes say what it is, as in "txt:"
			if len(text) < 4 {
				return Reply{}, malformed(line)
			}
			text = text[4:]
		}
		return Reply{kind: kind, text: text}, err
	case '*', '~', '>', '%', '|':
		n, err := r.length(line)
		if err != nil || n < 0 {
			return Reply{kind: '_'}, err
		}
		if kind == '%' || kind == '|' {
			n *= 2
		}
		items, err := r.items(n, depth-1)
		if kind == '|' && err == nil { // attributes of the value that follows
			return r.value(depth - 1)
		}
		return Reply{kind: kind, items: items}, err
	}
	return Reply{}, malformed(line)
}

func malformed(line []byte) error {
	return fmt.Errorf("%w: %.40q is no reply", errProtocol, line)
}

// line returns a line without its end, which has at least one byte. It is valid until the next
// call.
func (r *reader) line() ([]byte, error) {
	if err := r.take(itemCost); err != nil {
		return nil, err
	}
	line, err := r.b.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull && len(long) <= maxLine {
			line, err = r.b.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case len(line) > maxLine:
		return nil, fmt.Errorf("%w: a line has more than %d bytes", errProtocol, maxLine)
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r':
		return nil, malformed(line)
	}
	if err := r.take(int64(len(line))); err != nil {
		return nil, err
	}
	return line[:len(line)-2], nil
}

// length returns what a header says; -1 is null, as RESP2 writes it. What does not fit is refused
// before anything is read.
func (r *reader) length(line []byte) (int64, error) {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	switch {
	case err != nil || n < -1:
		return 0, malformed(line)
	case n > r.room:
		return 0, r.take(n)
	case n > math.MaxInt32:
		return 0, r.take(math.MaxInt64)
	}
	return n, nil
}

// text reads n bytes and the end of the line. It allocates as they arrive.
func (r *reader) text(n int64) ([]byte, error) {
	if err := r.take(n); err != nil {
		return nil, err
	}
	text := make([]byte, 0, min(n, 32<<10))
	for int64(len(text)) < n {
		if len(text) == cap(text) {
			grown := make([]byte, len(text), min(n, 2*int64(cap(text))))
			copy(grown, text)
			text = grown
		}
		m, err := r.b.Read(text[len(text):cap(text)])
		text = text[:len(text)+m]
		if err != nil {
			return nil, err
		}
	}
	end, err := r.b.Peek(2)
	if err != nil {
		return nil, err
	}
	if string(end) != "\r\n" {
		return nil, malformed(end)
	}
	_, err = r.b.Discard(2)
	return text, err
}

func (r *reader) items(n int64, depth int) ([]Reply, error) {
	if n > r.room/itemCost {
		return nil, r.take(math.MaxInt64)
	}
	items := make([]Reply, 0, min(n, 32))
	for range n {
		item, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// appendCommand appends a command as the protocol writes it.
func appendCommand(b []byte, args ...string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), "\r\n"...)
	for _, arg := range args {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(arg)), 10), "\r\n"...)
		b = append(append(b, arg...), "\r\n"...)
	}
	return b
}
