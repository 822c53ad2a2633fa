package framing_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

var benchSizes = []int{64, 16 << 10, 1 << 20}

type benchFraming struct {
	name   string
	framed framing.Framing
	header string // precedes the Content-Length of each frame
}

// benchFramings are those of the table, and then the others.
var benchFramings = func() []benchFraming {
	const header = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
	var all []benchFraming
	for _, f := range framing.Formats() {
		b := benchFraming{name: f.Name, framed: f.Framing}
		if f.Name == "content-length" {
			b.name, b.header = "length", header
		}
		all = append(all, b)
	}
	return append(all, benchFraming{"auto", framing.Auto, ""},
		benchFraming{"resync", resync, header})
}()

func TestNoAllocations(t *testing.T) {
	for _, bf := range benchFramings {
		for _, size := range benchSizes {
			t.Run(fmt.Sprintf("%s/%d", bf.name, size), func(t *testing.T) {
				parts := [][]byte{payload(size / 2), payload(size / 2)}
				one, err := bf.framed(strings.NewReader(""), framing.Limits{}).AppendFrame(nil,
					parts...)
				assert.NilError(t, err)
				one = append([]byte(bf.header), one...)
				c := bf.framed(&loop{data: one}, framing.Limits{})
				var frame []byte
				buf := make([]byte, 0, size+4) // a long line is collected with its CRLF
				assert.Equal(t, testing.AllocsPerRun(20, func() {
					if buf, err = c.ReadFrame(buf); err != nil || len(buf) != size {
						t.Fatal(len(buf), err)
					}
				}), 0.0, "read")
				assert.Equal(t, testing.AllocsPerRun(20, func() {
					if frame, err = c.AppendFrame(frame[:0], parts...); err != nil {
						t.Fatal(err)
					}
				}), 0.0, "append")
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, bf := range benchFramings {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", bf.name, size), func(b *testing.B) {
				one, err := bf.framed(nil, framing.Limits{}).AppendFrame(nil, payload(size))
				assert.NilError(b, err)
				// Many frames to a read, as under load.
				c := bf.framed(&loop{data: bytes.Repeat(one, max(1, 1<<20/size))}, framing.Limits{})
				var buf []byte
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if buf, err = c.ReadFrame(buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkReadBaseline is the least a newline reader can do: read, find the LF, copy once.
func BenchmarkReadBaseline(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := &loop{data: append(payload(size), '\n')}
			buf := make([]byte, size+1)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := io.ReadFull(r, buf); err != nil || bytes.IndexByte(buf, '\n') != size {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bf := range benchFramings[:len(framing.Formats())] {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", bf.name, size), func(b *testing.B) {
				c := bf.framed(nil, framing.Limits{})
				parts := [][]byte{payload(size)}
				var frame []byte
				var err error
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if frame, err = c.AppendFrame(frame[:0], parts...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkAppendVariadic shows what naming the parts in the call costs.
func BenchmarkAppendVariadic(b *testing.B) {
	c := framing.Auto(nil, framing.Limits{})
	p := payload(64)
	var frame []byte
	b.ReportAllocs()
	for b.Loop() {
		frame, _ = c.AppendFrame(frame[:0], p)
	}
}
