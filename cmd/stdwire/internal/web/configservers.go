package web

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// setConfigured replaces the configured servers with those of c. A server whose definition has not
// changed keeps running; others are stopped. Servers that cannot be used are listed with the
// reason.
func (s *servers) setConfigured(c *target.Selection, log *slog.Logger) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	before := s.all
	s.mu.Unlock()
	defer s.changes.Add(changes.Servers)
	var now []*server
	kept := map[string]bool{} // by the ids of the configuration
	for _, each := range c.Servers {
		srv := s.configured(c, each, log)
		now = append(now, srv)
		kept[srv.id] = slices.ContainsFunc(before, func(old *server) bool {
			return old.id == srv.id && old.digest == srv.digest && old.disabled == srv.disabled &&
				old.refusal == nil && srv.refusal == nil
		})
	}
	stays := func(srv *server) bool { // an added server stays if no configured one has its id
		same, taken := kept[srv.id]
		return same || srv.added && !taken
	}
	for _, old := range before {
		if !stays(old) {
			s.manager.Remove(old.id)
			s.questions.forget(old.id) // its roots are not for another program or URL
			s.changes.Add(topicDefinitions(old.id))
		}
	}
	s.mu.Lock()
	all := slices.Clone(now)
	for _, old := range before {
		if old.added && stays(old) {
			all = append(all, old)
		}
	}
	s.all = all
	for _, old := range before {
		if !stays(old) {
			delete(s.state, old.id)
		}
	}
	s.mu.Unlock()
	for _, srv := range now {
		if kept[srv.id] {
			continue
		}
		if err := s.manage(srv); err != nil {
			return err
		}
	}
	return nil
}

// configured returns a server of the configuration.
func (s *servers) configured(c *target.Selection, each *config.Server, log *slog.Logger) *server {
	store := config.UserStore(c.Env)
	srv := &server{id: each.ID, selector: "-s " + each.ID, filter: &each.Filter,
		config: target.ConfigOf(each), source: each.Position.String(), file: each.File,
		digest: each.Digest(), disabled: each.Disabled}
	if shown := each.Redacted(); shown.Command != "" {
		words := append([]string{shown.Command}, shown.Args...)
		for i, word := range words {
			words[i] = shellwords.Quote(word)
		}
		srv.command = strings.Join(words, " ")
	}
	err := cmp.Or(each.Err, store.Check(each))
	if err != nil {
		srv.refusal = reply.ProblemOf(target.ConfigFailure(err))
	} else if each.URL != "" {
		srv.url = httpurl.PublicText(each.URL)
		srv.endpoint = func() (*config.Endpoint, error) {
			if err := store.Check(each); err != nil {
				return nil, target.ConfigFailure(err)
			}
			return each.Resolve(c.Env)
		}
		written := &config.Endpoint{URL: each.URL, OAuth: each.OAuth, Headers: each.Headers}
		if target.NoLoginReason(written) == "" {
			srv.login = target.LoginCommand(each.ID, "")
		}
	}
	srv.upstream = target.Upstream(each,
		client.Options{Info: command.Implementation(), Logger: log})
	srv.upstream.IdleStop, srv.upstream.Sharing = -1, host.Shared // the page is its only client
	srv.upstream.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client,
		error) {
		// the files may have changed since the page was opened
		if err := store.Check(each); err != nil {
			return nil, target.ConfigFailure(err)
		}
		written, err := s.manager.Log(each.ID)
		if err != nil {
			return nil, err
		}
		endpoint, err := each.Resolve(c.Env)
		if err != nil {
			return nil, err
		}
		t := &target.Target{Configured: target.ConfiguredServer{Endpoint: endpoint},
			Observe: s.observe(each.ID)}
		connection, err := t.Start(ctx, o, func(cmd *client.Command) {
			cmd.Stderr, cmd.Started, cmd.Start = written, written.Started, s.processes.Start
		})
		return connection, target.AddLoginHint(each.ID, err)
	}
	return srv
}
