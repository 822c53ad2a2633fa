package proc

import "io"

const pumped = 32 << 10 // bytes read at a time

// pump hands what it reads to write until it fails, each character as a whole. write must not keep the slice.
func pump(r io.Reader, write func([]byte)) {
	buf := make([]byte, pumped)
	for kept := 0; ; {
		n, err := r.Read(buf[kept:])
		data := buf[:kept+n]
		if err != nil {
			write(data)
			return
		}
		whole := wholeRunes(data)
		write(whole)
		kept = copy(buf, data[len(whole):])
	}
}
