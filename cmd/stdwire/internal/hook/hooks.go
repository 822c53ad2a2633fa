package hook

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/dispatch"
)

// Hooks are the hooks of a gateway. [Hooks.Close] ends their processes and connections.
type Hooks struct {
	// Before and After ask the hooks, each in the order of its flags: about the arguments of a
	// call, and about its result, unless that is an error. What is between them refuses calls by
	// the arguments that the hooks leave, and results of its own are none of a server.
	Before, After []dispatch.Interceptor

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	endpoints []*endpoint
}

// start starts the hooks that are persistent and returns all of them. key returns the key of HTTP
// hooks.
func start(before, after []Program, key func() []byte, log *slog.Logger) *Hooks {
	all := new(Hooks)
	all.ctx, all.cancel = context.WithCancel(context.Background())
	for _, p := range before {
		all.Before = append(all.Before, all.start(p, key, log).before)
	}
	for _, p := range slices.Backward(after) { // the last interceptor gets the result first
		all.After = append(all.After, all.start(p, key, log).after)
	}
	return all
}

func (all *Hooks) start(p Program, key func() []byte, log *slog.Logger) *hook {
	switch {
	case p.url != nil:
		h, e := newEndpoint(p.url, key, log)
		all.endpoints = append(all.endpoints, e)
		return h
	case !p.persistent:
		return newProcess(p.words, log)
	}
	h, process := newPersistent(p.words, log)
	all.running.Go(func() { process.run(all.ctx) })
	return h
}

// Close ends the processes of persistent hooks with all their descendants, which takes up to half a
// second. Calls that ask one afterwards are refused. Close does nothing for a nil *Hooks.
func (all *Hooks) Close() {
	if all == nil {
		return
	}
	all.cancel()
	for _, e := range all.endpoints {
		e.client.CloseIdleConnections()
	}
	all.running.Wait()
}
