package web

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// close makes the page add no servers.
func (s *servers) close(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = why
}

// maxAdded is the number of servers that the page may add by their URLs.
const maxAdded = 32

// addURL adds a server at a URL until the page's process ends, and returns its id. It does not
// connect to it.
func (s *servers) addURL(std *term.Streams, url string) (id string, err error) {
	t := target.NewTarget()
	if err := t.Remote.SetURL(url); err != nil {
		return "", err
	}
	if err := t.Check(); err != nil {
		return "", err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	off, all := s.closed, slices.Clone(s.all)
	s.mu.Unlock()
	if off != "" {
		return "", &command.Failure{Code: "denied", Why: off}
	}
	added := 0
	for _, one := range all {
		if !one.added {
			continue
		}
		if added++; one.given == url {
			return one.id, nil
		}
	}
	if added >= maxAdded {
		return "", command.Usagef("there are %d such servers already", maxAdded).WithHint(
			"remove one of them")
	}
	one := s.targetServer(t, std)
	one.added, one.given = true, url
	name := one.id
	for n := 2; slices.ContainsFunc(all, func(o *server) bool { return o.id == one.id }); n++ {
		suffix := fmt.Sprint("-", n)
		one.id = name[:min(len(name), 32-len(suffix))] + suffix
	}
	one.upstream.ID = one.id
	t.Observe = s.observe(one.id)
	if err := s.add(one); err != nil {
		return "", err
	}
	s.changes.add(topicServers)
	return one.id, nil
}

// forget removes a server that the page has added.
func (s *servers) forget(id string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	i := slices.IndexFunc(s.all, func(one *server) bool { return one.id == id && one.added })
	if i >= 0 {
		s.all = slices.Concat(s.all[:i], s.all[i+1:])
		delete(s.state, id)
		delete(s.noStream, id)
	}
	s.mu.Unlock()
	if i < 0 {
		return notFound("added server", id)
	}
	s.manager.Remove(id)
	s.changes.add(topicDefinitions(id))
	s.changes.add(topicServers)
	return nil
}

// addRoutes adds the routes of servers that the page adds.
func (s *site) addRoutes(mux *http.ServeMux) {
	post(mux, "/api/connect", func(_ *http.Request, in struct{ URL string }) (any, error) {
		if s.gateway != nil {
			return nil, command.Usagef("this page watches a gateway, and connects to no server")
		}
		id, err := s.servers.addURL(s.std, in.URL)
		return map[string]string{"id": id}, err
	})
}
