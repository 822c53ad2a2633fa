package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// BenchmarkCallTool measures typed and validated calls, one at a time, over pipes in one process.
func BenchmarkCallTool(b *testing.B) {
	for _, size := range []int{64, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			c := dispatch.NewCatalog()
			dispatch.Add(c, dispatch.Spec{Name: "echo", Summary: "Echo.", Kind: dispatch.Read},
				func(_ context.Context, in report) (report, error) { return in, nil })
			r1, w1 := io.Pipe()
			r2, w2 := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- quiet.New(server.Info{Name: "echo", Version: "1"},
					c).Serve(context.Background(), stream{r1, w2})
			}()
			in := bufio.NewReaderSize(r2, 4<<20)
			frame := []byte(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
					strings.Repeat("x", size) + `"},"_meta":{` + modern + "}}}\n")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w1.Write(frame); err != nil {
					b.Fatal(err)
				}
				if _, err := in.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			w1.Close()
			<-ended
		})
	}
}
