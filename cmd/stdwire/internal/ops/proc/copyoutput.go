package proc

import (
	"io"

	"github.com/stdwire/stdwire/internal/printable"
)

const copyBuffer = 32 << 10 // bytes per read

// copyOutput passes data from r to write until a read fails. Each slice except the last ends
// at a character boundary. write must not keep the slice.
func copyOutput(r io.Reader, write func([]byte)) {
	buf := make([]byte, copyBuffer)
	for kept := 0; ; {
		n, err := r.Read(buf[kept:])
		data := buf[:kept+n]
		if err != nil {
			write(data)
			return
		}
		whole := printable.TrimPartialRune(data)
		write(whole)
		kept = copy(buf, data[len(whole):])
	}
}
