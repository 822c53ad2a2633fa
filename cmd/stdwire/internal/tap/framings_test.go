package tap

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// A replay sends what the client sent, in its framing, and understands a server that responds in
// the same.
func TestReplayOfEveryFraming(t *testing.T) {
	for _, f := range framing.Formats() {
		frame := func(text string) string {
			b, err := f.Framing(nil, framing.Limits{}).AppendFrame(nil, []byte(text))
			assert.NilError(t, err)
			return string(b)
		}
		request, response := frame(`{"id":1,"method":"a"}`), frame(`{"id":1,"result":2}`)
		recording := record(t, Options{}, "> "+request, "< "+response)
		synctest.Test(t, func(t *testing.T) {
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			var got string
			go func() {
				defer out.Close()
				b := make([]byte, len(request))
				_, err := io.ReadFull(in, b)
				assert.Check(t, err)
				got = string(b)
				_, err = io.WriteString(out, response)
				assert.Check(t, err)
				_, _ = io.Copy(io.Discard, in)
			}()
			same := 0
			r := Replay{Timeout: time.Minute, OnComparison: func(c Comparison) {
				assert.Assert(t, c.IsSame(), "%s: %v", f.Name, c)
				same++
			}}
			assert.NilError(t, r.Run(t.Context(), NewReader(strings.NewReader(recording)), stdin,
				stdout))
			synctest.Wait()
			assert.Equal(t, got, request)
			assert.Equal(t, same, 1)
		})
	}
	_, err := ParseRecord([]byte(`{"n":1,"from":"client","kind":"request","framing":"pigeon"}`))
	assert.Error(t, err, `unknown framing "pigeon"`)
}
