package streamable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// Of the readers of a stream, the one stays whose notice comes last, at all replicas: notices of
// others that come before its own are older.
func TestReaderYields(t *testing.T) {
	for _, c := range []struct {
		reader  string
		notices string
		stays   bool
	}{
		{"", "a", false}, // that of the request itself
		{"b", "b", true}, {"b", "a", true}, {"b", "ab", true}, {"b", "aab", true},
		{"b", "ba", false}, {"b", "aba", false}, {"b", "bb", true}, {"b", "bba", false},
	} {
		s := &sessionStreams{all: &handlerStreams{shared: new(shared.Sessions)},
			streams: map[int64]*stream{}}
		s.mu.Lock()
		st, _ := s.newStream(false, true, false)
		st.shared.reader = c.reader
		s.mu.Unlock()
		for _, name := range c.notices {
			s.yieldStream(st.number, string(name))
			s.yieldStream(st.number+1, string(name))
		}
		assert.Equal(t, st.reader != nil, c.stays, "%+v", c)
		if !c.stays {
			continue
		}
		s.wakeStreams(true) // notices were missed
		s.yieldStream(st.number, "c")
		assert.Assert(t, st.reader == nil, "%+v", c)
	}
}

// The store is blamed, and a line logged, only for what it has done.
func TestStoreRefusals(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	o := observer{log: slog.New(slog.NewTextHandler(&log, nil))}
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
		{t.Context(), errStore, 503, "cannot be reached now", false},
		{t.Context(), rpc.Errorf(rpc.CodeBusy, "no room for 100%% of it"), 429, "100% of it", false},
	} {
		log.Reset()
		refused := o.storeRefusal(c.ctx, c.err)
		assert.Equal(t, refused.status, c.status)
		assert.ErrorContains(t, refused.err, c.text)
		assert.Equal(t, refused.header, [2]string{"Retry-After", "1"})
		assert.Equal(t, log.Len() > 0, c.logged)
	}
}
