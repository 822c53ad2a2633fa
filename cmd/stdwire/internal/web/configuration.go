package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// A configuration is the configuration files that the page was opened with and can change. The page
// receives no secret of them, and sends with each change the digest of the content that it changes.
// A change does not make the file of a project trusted.
type configuration struct {
	servers *servers
	flags   *target.ConfigFlags
	log     *slog.Logger
	env     *config.Environment
	files   []config.Source // by precedence

	mu     sync.Mutex
	off    string         // why nothing can be changed; "" if it can
	loaded *config.Config // as it was read last
}

// newConfiguration returns the configuration whose files have been read.
func newConfiguration(s *servers, flags *target.ConfigFlags, c *target.Selection,
	log *slog.Logger) *configuration {
	all := &configuration{servers: s, flags: flags, log: log, env: c.Env, loaded: c.All}
	for _, f := range c.All.Files {
		if f.State == config.StateUsed || f.State == config.StateEmpty ||
			f.State == config.StateAbsent && !f.Project {
			all.files = append(all.files, f.Source)
		}
	}
	if len(all.files) == 0 {
		all.off = "no configuration file can be used: stdwire config check says why"
	}
	return all
}

// disable turns changes off.
func (c *configuration) disable(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = why
}

// configurationStatus is a configuration as the page shows it.
type configurationStatus struct {
	Off          string              `json:"off,omitempty"` // why nothing can be changed
	Files        []configurationFile `json:"files"`         // by precedence
	Applications []applicationFile   `json:"applications"`  // that servers can be imported from
	Settings     json.RawMessage     `json:"settings"`      // see [formProperties]
	Profiles     map[string][]string `json:"profiles"`      // the servers of each, by its name
}

type configurationFile struct {
	Path    string `json:"path"`
	Project bool   `json:"project,omitempty"` // its servers have to be trusted
}

type applicationFile struct {
	Title string `json:"title"`
	Path  string `json:"path"`
}

// status returns the files that can be changed. A nil configuration has none.
func (c *configuration) status() configurationStatus {
	status := configurationStatus{Files: []configurationFile{}, Applications: []applicationFile{},
		Settings: formProperties("server")}
	if c == nil {
		status.Off = "this page was not opened with a configuration file, as stdwire web alone is"
		return status
	}
	c.mu.Lock()
	status.Off, status.Profiles = c.off, c.loaded.Profiles
	c.mu.Unlock()
	for _, f := range c.files {
		status.Files = append(status.Files, configurationFile{f.Path, f.Project})
	}
	for _, f := range configfile.FindApplicationFiles(c.env) {
		if f.Exists {
			status.Applications = append(status.Applications, applicationFile{f.Title, f.Path})
		}
	}
	return status
}

// file returns a file that can be changed.
func (c *configuration) file(path string) (config.Source, error) {
	status := c.status()
	if status.Off != "" {
		return config.Source{}, &command.Failure{Code: "denied", Why: status.Off}
	}
	i := slices.IndexFunc(c.files, func(f config.Source) bool { return f.Path == path })
	if i < 0 {
		return config.Source{}, reply.NotFound("file", path)
	}
	return c.files[i], nil
}

// sourceOf returns the file that defines a server.
func (c *configuration) sourceOf(id string) (config.Source, error) {
	if c == nil {
		return c.file("")
	}
	c.mu.Lock()
	server, err := c.loaded.Server(id)
	c.mu.Unlock()
	if server == nil { // one with an error can be changed
		return config.Source{}, configFailure(err)
	}
	return c.file(server.File)
}

// A definedServer is a server as its file has it, without secrets.
type definedServer struct {
	File       string `json:"file"`
	Digest     string `json:"digest"` // of the content of the file
	Definition string `json:"definition"`
}

// definition returns the definition of a server.
func (c *configuration) definition(id string) (*definedServer, error) {
	source, err := c.sourceOf(id)
	if err != nil {
		return nil, err
	}
	data, err := c.env.ReadFile(source.Path)
	if err != nil {
		return nil, configFailure(err)
	}
	text, err := appfile.Parse(c.env, source, data).Definition(id)
	if err != nil {
		return nil, configFailure(err)
	}
	return &definedServer{source.Path, digestOf(data), string(text)}, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A fileChange is a change of a file that the page requests.
type fileChange struct {
	File   string `json:"file"`
	Digest string `json:"digest"` // of the content to change; "" for any, unless Write is set
	Write  bool   `json:"write"`  // otherwise the change is only shown

	Server     string         `json:"server"`     // to add, replace, remove or move
	From       string         `json:"from"`       // the server to copy, with its secrets
	Definition string         `json:"definition"` // JSON, see [appfile.File.Put]
	Remove     bool           `json:"remove"`
	Place      string         `json:"place"` // the server whose place Server takes
	Import     *importRequest `json:"import"`
}

// A changeAnswer describes the effect of a change.
type changeAnswer struct {
	Digest  string   `json:"digest"` // of the content before
	Diff    string   `json:"diff"`   // without secrets; "" if nothing changes
	Notes   []string `json:"notes"`
	Written bool     `json:"written"`
}

// change shows a change or writes it, and then reads the configuration again. It starts no server.
func (c *configuration) change(ctx context.Context, in fileChange) (*changeAnswer, error) {
	source, err := c.file(in.File)
	if err != nil {
		return nil, err
	}
	if in.Write && in.Digest == "" {
		return nil, command.BadArgs("a change must be shown before it is written: the digest is missing")
	}
	answer := &changeAnswer{Notes: []string{}}
	change := func(data, _ []byte) (*appfile.Change, error) {
		answer.Digest = digestOf(data)
		if in.Digest != "" && in.Digest != answer.Digest {
			return nil, &command.Failure{Code: "config", Why: in.File +
				" has changed since it was read; nothing was written", Hint: "review the change again"}
		}
		found, err := c.changed(source, data, in)
		if err != nil {
			return nil, configFailure(err)
		}
		return found, nil
	}
	file := configfile.File{Env: c.env, Path: source.Path, Workspace: source.Project}
	var done *appfile.Change
	if in.Write {
		done, err = file.Edit(ctx, change)
	} else {
		done, err = file.Preview(change)
	}
	if err != nil {
		return nil, configFailure(err)
	}
	answer.Diff, answer.Notes = done.Diff(), append(answer.Notes, done.Notes...)
	if in.Write {
		answer.Written = done.Changed()
		return answer, c.reload()
	}
	return answer, nil
}

// moved moves a server to the place of another one, and those between them by one place.
func (c *configuration) moved(source config.Source, data []byte, id, to string) (*appfile.Change,
	error) {
	place := func(id string) func(*config.Server) bool {
		return func(s *config.Server) bool { return s.ID == id }
	}
	file := appfile.Parse(c.env, source, data)
	at, end := slices.IndexFunc(file.Servers, place(id)), slices.IndexFunc(file.Servers, place(to))
	step := cmp.Compare(end, at)
	if at < 0 || end < 0 || step == 0 {
		return file.Swap(id, to) // which says what is missing
	}
	after := data
	for {
		at += step
		change, err := appfile.Parse(c.env, source, after).Swap(id, file.Servers[at].ID)
		if err != nil {
			return nil, err
		}
		if after = change.After; at == end {
			change.Before = data
			return change, nil
		}
	}
}

// changed returns the change that in requests.
func (c *configuration) changed(source config.Source, data []byte, in fileChange) (*appfile.Change,
	error) {
	switch {
	case in.Import != nil:
		return c.merge(source.Path, data, in.Import)
	case in.Remove:
		return appfile.Parse(c.env, source, data).Remove(in.Server)
	case in.Place != "":
		return c.moved(source, data, in.Server, in.Place)
	case !json.Valid([]byte(in.Definition)):
		return nil, errors.New("the definition is not JSON")
	}
	before := appfile.Parse(c.env, source, data)
	change, err := before.Put(in.Server, in.From, []byte(in.Definition))
	if err != nil {
		return nil, err
	}
	secret, redacted := clientSecret(config.Parse(c.env, source, change.After), in.Server)
	if kept, _ := clientSecret(before.File, in.From); secret != redacted && secret != kept {
		return nil, &command.Failure{Code: "config",
			Why:  "clientSecret is not a variable: everybody who can read the file could read the secret",
			Hint: "write ${NAME}, and set the variable NAME in the environment of stdwire"}
	}
	return change, nil
}

// clientSecret returns the secret of a server's OAuth client as the file has it, and redacted. They
// are equal if the secret consists of variables without defaults.
func clientSecret(f *config.File, id string) (secret, redacted string) {
	for _, s := range f.Servers {
		if s.ID == id && s.OAuth != nil {
			return s.OAuth.ClientSecret, s.Redacted().OAuth.ClientSecret
		}
	}
	return "", ""
}

// reload reads the configuration again.
func (c *configuration) reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	selection, err := c.flags.Select("")
	if err != nil {
		return err
	}
	c.loaded = selection.All
	return c.servers.setConfigured(selection, c.log)
}

// configFailure returns an error of a file as a failure.
func configFailure(err error) error {
	if _, ok := errors.AsType[*command.Failure](err); ok {
		return err
	}
	if e, ok := errors.AsType[*appfile.ExistsError](err); ok {
		return &command.Failure{Code: "config", Why: e.Error(), Hint: "select another name or file"}
	}
	return target.ConfigFailure(err)
}

// routes adds the routes of the configuration.
func (c *configuration) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/config", func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, c.status())
	})
	mux.HandleFunc("GET /api/config/found", func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, c.found())
	})
	post(mux, "/api/config/definition", func(_ *http.Request, in struct{ Server string }) (any, error) {
		return c.definition(in.Server)
	})
	post(mux, "/api/config/change", func(r *http.Request, in fileChange) (any, error) {
		return c.change(r.Context(), in)
	})
	post(mux, "/api/config/import", func(_ *http.Request, in importRequest) (any, error) {
		if _, err := c.file(in.Into); err != nil {
			return nil, err
		}
		return c.importable(&in)
	})
	post(mux, "/api/config/export", func(_ *http.Request, in struct{ Servers []string }) (any, error) {
		text, err := c.export(in.Servers)
		return map[string]string{"text": string(text)}, err
	})
}
