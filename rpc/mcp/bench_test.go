package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

var benchResults = map[string][]byte{
	"64B": []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 20) +
		`"}],"isError":false}`),
	"64KiB": []byte(`{"content":[{"type":"text","text":"` +
		strings.Repeat("a line of text\\n", 4096) + `"}],"isError":false}`),
}

func BenchmarkUnmarshalCallToolResult(b *testing.B) {
	for name, data := range benchResults {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var r CallToolResult
				if err := Unmarshal(data, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodingJSON measures encoding/json with a plain struct.
func BenchmarkEncodingJSON(b *testing.B) {
	for name, data := range benchResults {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var r struct {
					Content []struct{ Type, Text string }
					IsError bool
				}
				if err := json.Unmarshal(data, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendCallToolResult(b *testing.B) {
	for name, data := range benchResults {
		b.Run(name, func(b *testing.B) {
			var r CallToolResult
			if err := Unmarshal(data, &r); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = codec.Append(buf[:0], &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
