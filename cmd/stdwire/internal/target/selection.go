package target

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// A Selection is the servers of the configuration that a command works on.
type Selection struct {
	Servers     []*config.Server // including disabled servers and those with errors
	Diagnostics []config.Diagnostic
	Env         *config.Environment
	All         *config.Config
}

// NothingConfigured is the message for a configuration without servers.
const NothingConfigured = "no servers are configured; stdwire config where shows which files are searched"

// Select loads the servers of a profile, or of all if profile is "". A file that cannot be read is
// an error, because it may define more servers.
func (c *ConfigFlags) Select(profile string) (*Selection, error) {
	loaded, env, err := c.Load()
	if err != nil {
		return nil, err
	}
	for _, f := range loaded.Files {
		if f.Err != nil {
			return nil, ConfigFailure(f.Err)
		}
	}
	servers, err := loaded.Select(profile)
	if err != nil {
		return nil, ConfigFailure(err)
	}
	return &Selection{servers, loaded.Diagnostics, env, loaded}, nil
}

// DiagnosticsFor returns the diagnostics of a server, or those of the files if id is "".
func (c *Selection) DiagnosticsFor(id string) (found []config.Diagnostic) {
	for _, d := range c.Diagnostics {
		if d.Server == id {
			found = append(found, d)
		}
	}
	return found
}

// IDs returns the ids of servers.
func IDs(servers []*config.Server) (ids []string) {
	for _, s := range servers {
		ids = append(ids, s.ID)
	}
	return ids
}

// Keep removes all servers but those with these ids. It does nothing if ids is empty.
func (c *Selection) Keep(ids []string) error {
	known := IDs(c.Servers)
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return ConfigFailure(
				&config.UnknownError{What: "server", Name: id, Hint: near.Instead(id, known)})
		}
	}
	if ids != nil {
		c.Servers = slices.DeleteFunc(slices.Clone(c.Servers),
			func(s *config.Server) bool { return !slices.Contains(ids, s.ID) })
	}
	return nil
}

// StartServer starts a server of the configuration, or connects to it. The caller has checked that
// it is trusted. The error is one of the configuration or a [*client.StartError].
func StartServer(ctx context.Context, std *term.Streams, s *config.Server, env *config.Environment,
	o client.Options) (*client.Client, error) {
	endpoint, err := s.Resolve(env)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, std, endpoint, o, nil)
}

// Connect is StartServer for a resolved endpoint. The server's stderr and its start go to log,
// unless log is nil.
func Connect(ctx context.Context, std *term.Streams, endpoint *config.Endpoint, o client.Options,
	log *host.Log) (*client.Client, error) {
	if endpoint.URL != "" {
		dial, err := (&ConfiguredServer{Endpoint: endpoint}).dial(nil)
		if err != nil {
			return nil, err
		}
		return o.Connect(ctx, dial)
	}
	command := endpoint.Command
	if log != nil {
		command.Stderr, command.Started = log, log.Started
	}
	command.Start = std.Servers.Start
	return o.Spawn(ctx, command)
}

// maxConcurrentStarts is the number of servers that are started at a time. Each may be several
// processes of 100 MiB.
const maxConcurrentStarts = 4

// ForEach calls do for each element, a few at a time, and returns the results in order.
func ForEach[T, R any](all []T, do func(T) R) []R {
	results := make([]R, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(maxConcurrentStarts, len(all)) {
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
