package sse_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/sse"
)

var benchSizes = []int{64, 64 << 10, 1 << 20}

func payload(size int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%q}`,
		strings.Repeat("x", size-len(`{"jsonrpc":"2.0","id":1,"result":""}`)))
}

// wire is many events of one message each, of size bytes, as a server of MCP sends them.
func wire(t testing.TB, size int) []byte {
	one, err := sse.Append(nil, sse.Event{Type: sse.DefaultType, Data: payload(size)})
	assert.NilError(t, err)
	return bytes.Repeat(one, max(1, 1<<20/size))
}

func TestNoAllocations(t *testing.T) {
	for _, size := range benchSizes {
		r := sse.NewReader(&loop{data: append([]byte("id: 7\n"), wire(t, size)...)}, sse.Limits{})
		next := func() {
			if e, err := r.Next(); err != nil || len(e.Data) != size {
				t.Fatal(len(e.Data), err)
			}
		}
		for range 3 << 20 / size { // until the buffers have grown
			next()
		}
		assert.Equal(t, testing.AllocsPerRun(20, next), 0.0, "read %d", size)

		e := sse.Event{ID: "s1-7", Type: sse.DefaultType, Data: payload(size)}
		dst, err := sse.Append(nil, e)
		assert.NilError(t, err)
		assert.Equal(t, testing.AllocsPerRun(20, func() {
			dst, err = sse.Append(dst[:0], e)
			dst = sse.AppendRetry(sse.AppendComment(dst[:0], "ping"), 1)
		}), 0.0, "append %d", size)
	}
}

// bench also reports the data's bytes for each second.
func bench(b *testing.B, size int, one func() error) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := one(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range benchSizes {
		data := wire(b, size)
		for _, end := range []string{"\n", "\r\n", "\r"} {
			b.Run(fmt.Sprintf("%d/%q", size, end), func(b *testing.B) {
				r := sse.NewReader(&loop{data: bytes.ReplaceAll(data, []byte("\n"), []byte(end))},
					sse.Limits{})
				bench(b, size, func() error { _, err := r.Next(); return err })
			})
		}
	}
}

// One stream for one message, as the answer to a POST.
func BenchmarkReadOnce(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			data := wire(b, size)
			data = data[:bytes.Index(data, []byte("\n\n"))+2]
			bench(b, size, func() error {
				_, err := sse.NewReader(bytes.NewReader(data), sse.Limits{}).Next()
				return err
			})
		})
	}
}

// naive is a simple reader: lines of a bufio.Scanner, LF and CRLF only, no check of UTF-8.
func naive(s *bufio.Scanner) (id, typ string, data string, err error) {
	var lines []string
	for s.Scan() {
		line := s.Text()
		if line == "" {
			return id, typ, strings.Join(lines, "\n"), nil
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			id = value
		case "event":
			typ = value
		case "data":
			lines = append(lines, value)
		}
	}
	return "", "", "", io.EOF
}

func BenchmarkReadNaive(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := bufio.NewScanner(&loop{data: wire(b, size)})
			s.Buffer(nil, 2<<20)
			bench(b, size, func() error { _, _, _, err := naive(s); return err })
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e := sse.Event{ID: "s1-7", Type: sse.DefaultType, Data: payload(size)}
			var dst []byte
			bench(b, size, func() (err error) { dst, err = sse.Append(dst[:0], e); return err })
		})
	}
}

// The same with fmt and a split into lines.
func BenchmarkAppendNaive(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			data := payload(size)
			var out bytes.Buffer
			bench(b, size, func() error {
				out.Reset()
				fmt.Fprintf(&out, "id: %s\nevent: %s\n", "s1-7", sse.DefaultType)
				for line := range strings.SplitSeq(string(data), "\n") {
					fmt.Fprintf(&out, "data: %s\n", line)
				}
				out.WriteByte('\n')
				return nil
			})
		})
	}
}
