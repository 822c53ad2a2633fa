package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/rpc"
)

// Errors after the end of the connection share one wait for the exit of the server, which ends
// early with the context of a call, and when the client is closed.
func TestWaitForExit(t *testing.T) {
	second := time.Second
	for name, test := range map[string]struct {
		calledAfter, ctxEndsAfter, closedAfter time.Duration // 0: it does not

		foreign bool // the connection has not ended
		want    time.Duration
	}{
		"the first call":          {want: exitTimeout},
		"a later call":            {calledAfter: second, want: exitTimeout},
		"a call after that":       {calledAfter: 3 * second, want: 3 * second},
		"a context that ends":     {ctxEndsAfter: second, want: second},
		"a client that is closed": {closedAfter: second, want: second},
		"the error of another connection": {calledAfter: second, foreign: true,
			want: second + exitTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read, write := io.Pipe()
				c := &Client{proc: new(child.Process), explained: make(chan struct{}),
					peer: rpc.Options{}.New(struct {
						io.Reader
						io.Writer
						io.Closer
					}{read, new(strings.Builder), read})}
				c.explain = sync.OnceFunc(func() { close(c.explained) })
				ctx := t.Context()
				if test.ctxEndsAfter > 0 {
					limited, cancel := context.WithTimeout(ctx, test.ctxEndsAfter)
					defer cancel()
					ctx = limited
				}
				if test.closedAfter > 0 {
					time.AfterFunc(test.closedAfter, c.explain)
				}
				if !test.foreign {
					write.Close()
					<-c.peer.Closed()
					go c.awaitExit()
				}
				began := time.Now()
				time.Sleep(test.calledAfter)
				err := c.newLostError(ctx, io.EOF)
				assert.Check(t, time.Since(began) == test.want, "%v", time.Since(began))
				assert.Check(t, errors.Is(err, rpc.ErrClosed), "%v", err)
				c.explain()
				write.Close()
				<-c.peer.Done()
			})
		})
	}
}
