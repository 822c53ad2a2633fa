package server_test

import (
	"context"

	"github.com/stdwire/stdwire/server"
)

// A blocking server has, in every place, a handler that runs until it is cancelled. It reports when
// the handler begins and why it ends.
type blocking struct {
	*server.Server
	begun chan struct{}
	ended chan error
}

func blocks(o server.Options) blocking {
	b := blocking{begun: make(chan struct{}, 100), ended: make(chan error, 100)}
	b.Server = everywhere(o, func(ctx context.Context) (string, error) {
		b.begun <- struct{}{}
		<-ctx.Done()
		b.ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
	return b
}
