package grep

import (
	"bufio"
	"bytes"
	"io"
)

const maxLine = 256 << 10 // bytes of a line to search

// A lineBuffer reads files line by line and can be reused.
type lineBuffer struct {
	*bufio.Reader
}

// line returns the next line without its end, truncated to maxLine. The bytes are valid until the
// next call.
func (b *lineBuffer) line() ([]byte, error) {
	line, err := b.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			_, err = b.ReadSlice('\n')
		}
	}
	if err == io.EOF && len(line) > 0 {
		err = nil // the last line has no end
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), err
}
