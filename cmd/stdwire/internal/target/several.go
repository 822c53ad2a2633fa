package target

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/near"
)

// A Chosen is the servers of the configuration that a command is about.
type Chosen struct {
	Servers     []*config.Server // those with errors and disabled ones too
	Diagnostics []config.Diagnostic
	Env         *config.Environment
	All         *config.Config
}

const NothingConfigured = "no servers are configured; stdwire config where shows which files are searched"

// Choose loads the servers of a profile, "" for all. A file that is broken, and so may have others, is an error.
func (c *Configuration) Choose(profile string) (*Chosen, error) {
	loaded, env, err := c.Load()
	if err != nil {
		return nil, err
	}
	for _, f := range loaded.Files {
		if f.Err != nil {
			return nil, Misconfigured(f.Err)
		}
	}
	servers, err := loaded.Select(profile)
	if err != nil {
		return nil, Misconfigured(err)
	}
	return &Chosen{servers, loaded.Diagnostics, env, loaded}, nil
}

// About are the diagnostics of a server; of "", those of the files.
func (c *Chosen) About(id string) (told []config.Diagnostic) {
	for _, d := range c.Diagnostics {
		if d.Server == id {
			told = append(told, d)
		}
	}
	return told
}

// Only leaves those servers that have these ids; all if there are none.
func (c *Chosen) Only(ids []string) error {
	var known []string
	for _, s := range c.Servers {
		known = append(known, s.ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return Misconfigured(&config.UnknownError{What: "server", Name: id, Hint: near.Instead(id, known)})
		}
	}
	if ids != nil {
		c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s *config.Server) bool { return !slices.Contains(ids, s.ID) })
	}
	return nil
}

// Reach starts a server of the configuration, or connects to it. Whoever wants to has asked the
// store whether it is trusted. What it writes to stderr, and its start, go to log, unless that is
// nil. An error is one of the configuration, or a [*client.StartError].
func Reach(ctx context.Context, s *config.Server, env *config.Environment, o client.Options, log *host.Log) (*client.Client, error) {
	endpoint, err := s.Resolve(env)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, endpoint, o, log)
}

// Connect is reach for what has been resolved.
func Connect(ctx context.Context, endpoint *config.Endpoint, o client.Options, log *host.Log) (*client.Client, error) {
	if endpoint.URL != "" {
		return o.Connect(ctx, (&Selected{Endpoint: endpoint}).dial())
	}
	command := endpoint.Command
	if log != nil {
		command.Stderr, command.Started = log, log.Started
	}
	return o.Spawn(ctx, command)
}

// maxAtOnce is how many servers are started at a time: each may be some processes of 100 MiB.
const maxAtOnce = 4

// ForEach does something about each of several things, a few at a time, and returns what comes of it in their order.
func ForEach[T, R any](all []T, do func(T) R) []R {
	results := make([]R, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(maxAtOnce, len(all)) {
		wg.Go(func() {
			for i := range next {
				results[i] = do(all[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}
