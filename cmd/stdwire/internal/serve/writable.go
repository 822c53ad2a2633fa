package serve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

// refuseProgram returns an error if clients could write to the program, the envFile or the TLS
// files of a server.
func (m *GatewayConfig) refuseProgram(o acceptedServer) error {
	e := o.resolved.endpoint
	if e == nil {
		return nil
	}
	for _, path := range []string{e.TLS.CA, e.TLS.ClientCert, e.TLS.ClientKey} {
		if path != "" {
			if err := m.writable.Refuse("a file of its TLS", path); err != nil {
				return err
			}
		}
	}
	if e.URL != "" {
		return nil
	}
	if e.EnvFile != "" {
		if err := m.writable.Refuse("its envFile", e.EnvFile); err != nil {
			return err
		}
	}
	return m.writable.RefuseCommand("its program", e.Command, false)
}

// withRemedy returns the text of an error with its hint.
func withRemedy(err error) string {
	if f, ok := errors.AsType[*command.Failure](err); ok && f.Hint != "" {
		return err.Error() + "; " + f.Hint
	}
	return err.Error()
}

// refuseWritable returns an error if clients could write to a file that the gateway relies on.
func (m *GatewayConfig) refuseWritable(c *target.Selection) error {
	if len(m.writable) == 0 {
		return nil
	}
	type reliance struct{ what, path string }
	var all []reliance
	for _, f := range c.All.Files {
		// A project file that does not exist yet has no effect until it is trusted.
		if !f.Project || f.State == config.Used {
			all = append(all, reliance{"the configuration", f.Path})
		}
	}
	all = append(all, reliance{"the record of trusted definitions", m.store.Path})
	for _, name := range []string{"pins.json", "credentials"} {
		if path, err := target.StateFile(name); err == nil {
			all = append(all, reliance{"stdwire's data", path})
		}
	}
	if dir := RememberDir(); dir != "" {
		all = append(all, reliance{"stdwire's data", dir})
	}
	if dir, err := target.CacheDir("bundles"); err == nil {
		all = append(all, reliance{"stdwire's data", dir})
	}
	if m.audit != "" {
		all = append(all, reliance{"the audit log", m.audit},
			reliance{"the key of the audit log", m.audit + ".key"},
			reliance{"the lock of the audit log", m.audit + ".lock"})
	}
	for _, dir := range socket.SocketDirs() {
		all = append(all, reliance{"the directory of the control socket", dir})
	}
	for _, r := range all {
		if err := m.writable.Refuse(r.what, r.path); err != nil {
			return err
		}
	}
	for _, words := range slices.Concat(m.before, m.after) {
		hook := client.Command{Path: words[0], Args: words[1:]}
		if err := m.writable.RefuseCommand(fmt.Sprintf("the hook %q", words[0]), hook,
			true); err != nil {
			return err
		}
	}
	return nil
}
