package web

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// disableAdding makes addURL and addExample fail for the reason why.
func (s *servers) disableAdding(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noAdding = why
}

// maxAdded is the number of servers that the page may add without a file.
const maxAdded = 32

// addExample adds stdwire's own server, with its default flags, until this process ends.
func (s *servers) addExample(std *term.Streams) (id string, err error) {
	t := target.NewTarget()
	if err := t.Check(); err != nil {
		return "", err
	}
	return s.addUntilEnd(std, t, "the example")
}

// addURL adds a server at a URL until this process ends, and returns its id. It does not connect to
// the server.
func (s *servers) addURL(std *term.Streams, url string) (id string, err error) {
	t := target.NewTarget()
	if err := t.Remote.SetURL(url); err != nil {
		return "", err
	}
	if err := t.Check(); err != nil {
		return "", err
	}
	return s.addUntilEnd(std, t, url)
}

// addUntilEnd adds a server until this process ends, and returns its id. as is what the user has
// entered: the same is added once.
func (s *servers) addUntilEnd(std *term.Streams, t *target.Target, as string) (string, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	off, all := s.noAdding, slices.Clone(s.all)
	s.mu.Unlock()
	if off != "" {
		return "", &command.Failure{Code: "denied", Why: off}
	}
	added := 0
	for _, srv := range all {
		if !srv.added {
			continue
		}
		if added++; srv.addedAs == as {
			return srv.id, nil
		}
	}
	if added >= maxAdded {
		return "", command.Usagef("the page has added %d servers already, which is the limit", maxAdded).WithHint(
			"remove one of them")
	}
	srv := s.targetServer(t, std)
	srv.added, srv.addedAs = true, as
	name := srv.id
	for n := 2; slices.ContainsFunc(all, func(o *server) bool { return o.id == srv.id }); n++ {
		suffix := fmt.Sprint("-", n)
		srv.id = name[:min(len(name), 32-len(suffix))] + suffix
	}
	srv.upstream.ID = srv.id
	t.Observe = s.observe(srv.id)
	if err := s.add(srv); err != nil {
		return "", err
	}
	s.changes.Add(changes.Servers)
	return srv.id, nil
}

// forget removes a server that the page has added.
func (s *servers) forget(id string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	i := slices.IndexFunc(s.all, func(srv *server) bool { return srv.id == id && srv.added })
	if i >= 0 {
		s.all = slices.Concat(s.all[:i], s.all[i+1:])
		delete(s.state, id)
		delete(s.noStream, id)
	}
	s.mu.Unlock()
	if i < 0 {
		return reply.NotFound("added server", id)
	}
	s.manager.Remove(id)
	s.questions.forget(id)
	s.changes.Add(topicDefinitions(id))
	s.changes.Add(changes.Servers)
	return nil
}

// addRoutes adds the route with which the page adds servers.
func (s *site) addRoutes(mux *http.ServeMux) {
	post(mux, "/api/connect", func(_ *http.Request, in struct {
		URL     string
		Example bool
	}) (any, error) {
		if s.gateway != nil {
			return nil, command.Usagef("this page shows a gateway, and connects to no other servers")
		}
		var id string
		var err error
		if in.Example {
			id, err = s.servers.addExample(s.std)
		} else {
			id, err = s.servers.addURL(s.std, in.URL)
		}
		return map[string]string{"id": id}, err
	})
}
