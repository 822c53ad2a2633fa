package streamable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

// The store is blamed, and a line logged, only for what it has done.
func TestStoreRefusals(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	h := &Handler{o: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	for _, c := range []struct {
		ctx    context.Context
		err    error
		status int
		text   string
		logged bool
	}{
		{t.Context(), errors.New("NOPERM"), 503, "cannot be reached now", true},
		{gone, context.Canceled, 503, "cannot be reached now", false},
		{t.Context(), errContended, 503, "changed by too many requests", false},
		{t.Context(), rpc.Errorf(rpc.CodeBusy, "no room for 100%% of it"), 429, "100% of it", false},
	} {
		log.Reset()
		refused := h.storeRefusal(c.ctx, c.err)
		assert.Equal(t, refused.status, c.status)
		assert.ErrorContains(t, refused.err, c.text)
		assert.Equal(t, refused.header, [2]string{"Retry-After", "1"})
		assert.Equal(t, log.Len() > 0, c.logged)
	}
}
