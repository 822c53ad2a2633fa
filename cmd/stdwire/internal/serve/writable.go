package serve

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

// refuseProgram returns an error if clients could write to the program, the envFile, the TLS
// files or the key of a server.
func (st *Reloader) refuseProgram(o acceptedServer) error {
	e := o.resolved.endpoint
	if e == nil {
		return nil
	}
	for _, path := range []string{e.TLS.CA, e.TLS.ClientCert, e.TLS.ClientKey} {
		if path != "" {
			if err := st.g.Writable.Refuse("a file of its TLS", path); err != nil {
				return err
			}
		}
	}
	if e.Credentials != nil && e.Credentials.ClientKey != "" {
		err := st.g.Writable.Refuse("the key of its credentials", e.Credentials.ClientKey)
		if err != nil {
			return err
		}
	}
	if e.URL != "" {
		return nil
	}
	if e.EnvFile != "" {
		if err := st.g.Writable.Refuse("its envFile", e.EnvFile); err != nil {
			return err
		}
	}
	return st.g.Writable.RefuseCommand("its program", e.Command, false)
}

// withRemedy returns the text of an error with its hint.
func withRemedy(err error) string {
	if f, ok := errors.AsType[*command.Failure](err); ok && f.Hint != "" {
		return err.Error() + "; " + f.Hint
	}
	return err.Error()
}

// refuseWritable returns an error if clients could write to a file that the gateway relies on.
func (g *Gateway) refuseWritable(c *target.Selection, store *config.Store) error {
	if len(g.Writable) == 0 {
		return nil
	}
	type reliance struct{ what, path string }
	var all []reliance
	for _, f := range c.All.Files {
		// A project file that does not exist yet has no effect until it is trusted.
		if !f.Project || f.State == config.StateUsed {
			all = append(all, reliance{"the configuration", f.Path})
		}
	}
	all = append(all, reliance{"the record of trusted definitions", store.Path})
	for _, name := range []string{"pins.json", "credentials"} {
		if path, err := target.StateFile(name); err == nil {
			all = append(all, reliance{"stdwire's data", path})
		}
	}
	if dir := target.RememberDir(); dir != "" {
		all = append(all, reliance{"stdwire's data", dir})
	}
	if dir, err := target.CacheDir("bundles"); err == nil {
		all = append(all, reliance{"stdwire's data", dir})
	}
	if g.audit != "" {
		all = append(all, reliance{"the audit log", g.audit},
			reliance{"the key of the audit log", g.audit + ".key"},
			reliance{"the lock of the audit log", g.audit + ".lock"})
	}
	if path := g.hooks.SecretFile(); path != "" {
		all = append(all, reliance{"the secret of hooks", path})
	}
	if path, err := g.logins.Path(target.StateFile); err == nil {
		all = append(all, reliance{"the logins of users", path})
	}
	if path := g.logins.KeyFile(); path != "" {
		all = append(all, reliance{"the key of the logins", path})
	}
	for _, dir := range socket.SocketDirs() {
		all = append(all, reliance{"the directory of the control socket", dir})
	}
	for _, r := range all {
		if err := g.Writable.Refuse(r.what, r.path); err != nil {
			return err
		}
	}
	for _, program := range g.hooks.Programs() {
		words := program.Words()
		if words == nil {
			continue
		}
		hook := client.Command{Path: words[0], Args: words[1:]}
		if err := g.Writable.RefuseCommand(fmt.Sprintf("the hook %q", words[0]), hook,
			true); err != nil {
			return err
		}
	}
	return nil
}
