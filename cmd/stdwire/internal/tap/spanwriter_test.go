package tap

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A spanWriter writes what AppendTraces appends.
func TestSpanWriter(t *testing.T) {
	tel := telemetry.Options{}.New()
	for _, name := range []string{"first", "second"} {
		_, span := tel.StartSpan(t.Context(), name, telemetry.SpanKindInternal)
		span.End(nil)
	}
	spans := tel.TakeSpans(nil, 10)
	assert.Equal(t, len(spans), 2)
	for n := range len(spans) + 1 {
		var b bytes.Buffer
		w := newSpanWriter(tel, &b)
		assert.Equal(t, b.Len(), 0)
		for i := range spans[:n] {
			assert.NilError(t, w.add(&spans[i]))
		}
		assert.NilError(t, w.close())
		assert.Equal(t, b.String(), string(tel.AppendTraces(nil, spans[:n])))
	}
}
