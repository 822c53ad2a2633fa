package target

import (
	"fmt"
	"os"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// OrServers lets the target be all configured servers, behind a gateway that runs as long as the
// command: with --servers, and as [Target.ByDefault] says. It returns t.
func (t *Target) OrServers() *Target {
	t.orServers = true
	return t
}

// ServersFlag is the name of the flag for all configured servers.
const ServersFlag = "--servers"

func (t *Target) serversFlag() command.Flag {
	return command.SwitchFlag(&t.Servers, ServersFlag,
		"all servers of the configuration; names of tools and prompts begin with the server's, as in files__read")
}

// ByDefault reports whether all configured servers are the target of a command that names no server
// and has no flag for stdwire's own: standard error is a terminal, and at least one of the servers
// may be started. It says there which server the command uses. A script or another program gets
// stdwire's own server, whatever is configured.
func (t *Target) ByDefault(std *term.Streams) bool {
	if !std.Err.Terminal || !t.isOpen() {
		return false
	}
	usable, all := t.Configured.usable()
	which := command.Plural(all, "configured server")
	if len(usable) < all {
		which = fmt.Sprintf("%d of %s", len(usable), which)
	}
	switch {
	case len(usable) > 0:
		std.Err.Printf("note: using %s; for stdwire's own: --root .", which)
	case all > 0:
		std.Err.Printf("note: using stdwire's own server; no configured one is usable: stdwire list")
	}
	return len(usable) > 0
}

// isOpen reports whether neither a server is given nor a flag that is for one.
func (t *Target) isOpen() bool {
	return t.IsBuiltin() && t.Builtin.FirstFlag() == "" && t.env == nil && t.Configured.Given() == ""
}

// usable returns the configured servers that may be started, and the number of all.
func (s *ConfiguredServer) usable() (usable []*config.Server, all int) {
	c, env, err := s.Load()
	if err != nil {
		return nil, 0
	}
	store := config.UserStore(env)
	for _, server := range c.Servers {
		if server.Err == nil && !server.Disabled && store.Check(server) == nil {
			usable = append(usable, server)
		}
	}
	return usable, len(c.Servers)
}

// RememberedServers returns the tools of all configured servers, as their gateway names them, from
// the last time that they were listed. It reports whether a command at a terminal would use these
// servers.
func (t *Target) RememberedServers() (all []*mcp.Tool, used bool) {
	if !t.Servers && (!t.orServers || !t.isOpen()) {
		return nil, false
	}
	usable, _ := t.Configured.usable()
	for _, s := range usable {
		for _, tool := range RememberedTools(s) {
			if s.Filter.Allows(tool.Name) {
				named := *tool
				named.Name = host.PublicName(s.ID, tool.Name, host.DefaultMaxName)
				all = append(all, &named)
			}
		}
	}
	return all, len(usable) > 0
}

// checkServers is Check for all configured servers. own is a flag of stdwire's own server, or "".
func (t *Target) checkServers(own string) error {
	switch {
	case t.Connection != "" || t.Configured.ID != "" || t.Remote.URL != "" || t.Words != nil:
		return command.Usagef("--servers and another server exclude each other")
	case own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.env != nil:
		return command.Usagef("--env is for one server").WithHint("select one: -s ID")
	}
	return t.Remote.checkUnused()
}

// gatewayCommand returns the command of the gateway for all configured servers. Like -s it compares
// no definitions with those of before.
func (t *Target) gatewayCommand() (words []string, err error) {
	self, err := os.Executable()
	return append([]string{self, "serve", "--servers", "--no-desc-prefix", "--pins=off"},
		t.configArgs...), err
}
