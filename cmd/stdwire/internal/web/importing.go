package web

import (
	"errors"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/registry"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// An importRequest asks for the servers of another file.
type importRequest struct {
	Into string `json:"into"` // the file to which the servers are added
	// Application is the path of an application's file, which is read here. Otherwise Text is the
	// content of a file that the page has, and Name its name.
	Application string   `json:"application"`
	Name        string   `json:"name"`
	Text        string   `json:"text"`    // or what [described] understands
	Servers     []string `json:"servers"` // those to import
	Replace     bool     `json:"replace"` // replace different servers with the same ids

	typed bool // the text describes a server without its name
}

// An importableServer is a server of another file, without secrets.
type importableServer struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind,omitempty"` // in a registry's file: of package, or remote
	Definition string   `json:"definition,omitempty"`
	Problem    string   `json:"problem,omitempty"` // why it cannot be imported
	Notes      []string `json:"notes"`
	Typed      bool     `json:"typed,omitempty"` // the page may name it
}

// read parses the file that a request names. If it is a registry's file, read also returns its
// alternatives.
func (c *configuration) read(in *importRequest) (*config.File, []registry.Alternative, error) {
	source := config.Source{Path: in.Name, Workspace: c.env.Dir, Rename: true}
	var data []byte
	var err error
	if in.Application == "" {
		if data, in.typed, err = described(in.Text, c.env.Dir); err != nil {
			return nil, nil, err
		}
	} else {
		known := slices.ContainsFunc(c.status().Applications, func(f applicationFile) bool {
			return f.Path == in.Application
		})
		if !known {
			return nil, nil, reply.NotFound("file of an application", in.Application)
		}
		source.Path = in.Application
		if data, err = c.env.ReadFile(in.Application); err != nil {
			return nil, nil, configFailure(err)
		}
	}
	described, err := registry.Parse(data)
	switch {
	case errors.Is(err, registry.ErrOther):
		f := config.Parse(c.env, source, data)
		if err := f.Err(); err != nil {
			return nil, nil, configFailure(err)
		}
		return f, nil, nil
	case err != nil:
		return nil, nil, &command.Failure{Code: "config", Why: source.Path + ": " + err.Error()}
	}
	all := described.Alternatives()
	usable := slices.DeleteFunc(slices.Clone(all),
		func(a registry.Alternative) bool { return a.Problem != "" })
	return config.Parse(c.env, source, registry.File(usable)), all, nil
}

// importable returns the servers of the file that a request names.
func (c *configuration) importable(in *importRequest) ([]importableServer, error) {
	f, alternatives, err := c.read(in)
	if err != nil {
		return nil, err
	}
	all := []importableServer{}
	for _, s := range f.Servers {
		server := importableServer{ID: s.ID, Definition: string(s.Redacted().JSON()),
			Notes: []string{}, Typed: in.typed}
		if in.typed { // the page has it
			server.Definition = string(s.JSON())
		}
		if s.Err != nil {
			server.Problem = s.Err.Error()
		}
		for _, d := range f.Diagnostics {
			if d.Server == s.ID && d.Severity == config.SeverityWarning {
				server.Notes = append(server.Notes, d.Message)
			}
		}
		all = append(all, server)
	}
	for _, a := range alternatives {
		i := slices.IndexFunc(all, func(server importableServer) bool { return server.ID == a.ID })
		if i < 0 {
			all = append(all, importableServer{ID: a.ID, Kind: a.Type, Problem: a.Problem,
				Notes: []string{}})
			continue
		}
		server := &all[i]
		server.Kind = a.Type
		for _, input := range a.Inputs {
			server.Notes = append(server.Notes, "requires ${input:"+input.ID+"}: "+input.Description)
		}
		for _, name := range a.Left {
			server.Notes = append(server.Notes, "not set, because it is optional: "+name)
		}
		if a.Note != "" {
			server.Notes = append(server.Notes, a.Note)
		}
	}
	return all, nil
}

// merge returns the change that imports servers.
func (c *configuration) merge(path string, data []byte,
	in *importRequest) (*appfile.Change, error) {
	f, _, err := c.read(in)
	if err != nil {
		return nil, err
	}
	var chosen []*config.Server
	for _, id := range in.Servers {
		i := slices.IndexFunc(f.Servers, func(s *config.Server) bool { return s.ID == id })
		switch {
		case i < 0:
			return nil, reply.NotFound("server", id)
		case f.Servers[i].Err != nil:
			return nil, f.Servers[i].Err
		}
		chosen = append(chosen, f.Servers[i])
	}
	if chosen == nil {
		return nil, command.BadArgs("no server is selected")
	}
	return appfile.Merge(c.env, path, data, chosen, f.Inputs, in.Replace)
}

// export returns a configuration file with the servers of these ids, or with all servers if there
// are no ids. It has "…" in place of secrets.
func (c *configuration) export(ids []string) ([]byte, error) {
	if c == nil {
		return nil, reply.NotFound("configuration", "")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var chosen []*config.Server
	var inputs []config.Input
	for _, s := range c.loaded.Servers {
		if s.Err != nil || ids != nil && !slices.Contains(ids, s.ID) {
			continue
		}
		chosen = append(chosen, s.Redacted())
		for _, input := range s.Inputs {
			if !slices.ContainsFunc(inputs, func(o config.Input) bool { return o.ID == input.ID }) {
				inputs = append(inputs, input)
			}
		}
	}
	if chosen == nil {
		return nil, reply.NotFound("server", "to export")
	}
	return config.Encode(chosen, inputs, nil), nil
}
