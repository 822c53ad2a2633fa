package target

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
// and has no flag for one: standard input, output and error are terminals, and at least one of the
// servers may be started. It says there which server the command uses, and why not the configured
// ones. A script or another program gets stdwire's own server, whatever is configured.
func (t *Target) ByDefault(std *term.Streams) bool {
	if !std.CanAsk() || !std.Out.Terminal || !t.isOpen() {
		return false
	}
	c, env, err := t.Configured.Load()
	if err != nil {
		std.Err.Printf("warning: no configuration is used: %v", err)
		return false
	}
	usable, all := usableServers(c, env), len(c.Servers)
	if len(usable) > 0 { // the gateway reports files that cannot be used
		which := command.Plural(all, "configured server")
		if len(usable) < all {
			which = fmt.Sprintf("%d of %s", len(usable), which)
		}
		std.Err.Printf("note: using %s; for stdwire's own: --root .", which)
		return true
	}
	broken := slices.DeleteFunc(ErrorsAmong(c.Diagnostics),
		func(d config.Diagnostic) bool { return d.Server != "" })
	PrintDiagnostics(std, broken)
	if all > 0 || broken != nil {
		std.Err.Printf(
			"note: using stdwire's own server; no configured one is usable: stdwire list")
	}
	return false
}

// isOpen reports whether neither a server is given nor a flag that is for one.
func (t *Target) isOpen() bool {
	return t.IsBuiltin() && t.Builtin.FirstFlag() == "" && t.env == nil &&
		t.Configured.Given() == "" && t.Remote.checkUnused() == nil &&
		(!t.orServers || t.launchFlag() == "")
}

// usableServers returns the servers that may be started, without those that are gateways of this
// program, which may offer the others again.
func usableServers(c *config.Config, env *config.Environment) (usable []*config.Server) {
	store := config.UserStore(env)
	for _, s := range c.Servers {
		if s.Err == nil && !s.Disabled && !isGateway(s) && store.Check(s) == nil {
			usable = append(usable, s)
		}
	}
	return usable
}

// HintBuiltin returns the hint that stdwire's own server, and not the configured ones, has a tool.
// It needs flag, unless that is "".
func (t *Target) HintBuiltin(flag string) string {
	flag = cmp.Or(flag, "--root .")
	if t.unasked {
		return "stdwire's own server has it: add " + flag
	}
	return "stdwire's own server has it: " + flag + " in place of " + ServersFlag
}

// RememberedServers returns the tools of all configured servers, as their gateway names them, from
// the last time that they were listed. It reports whether a command at a terminal would use these
// servers.
func (t *Target) RememberedServers() (all []*mcp.Tool, used bool) {
	if !t.Servers && (!t.orServers || !t.isOpen()) {
		return nil, false
	}
	servers, _ := t.Remembered()
	for _, s := range servers {
		for _, tool := range s.Tools {
			named := *tool.Tool
			named.Name = host.PublicName(s.ID, tool.Name, host.DefaultMaxName)
			all = append(all, &named)
		}
	}
	return all, len(servers) > 0
}

// A RememberedServer is a configured server with the tools that a gateway offered when it last
// listed them; nil if none has.
type RememberedServer struct {
	ID    string
	Tools []OfferedTool
}

// Remembered returns the configured servers that may be started, or only the one that -s names, if
// it is among them. It starts none.
func (t *Target) Remembered() (all []RememberedServer, err error) {
	c, env, err := t.Configured.Load()
	if err != nil {
		return nil, err
	}
	for _, s := range usableServers(c, env) {
		if t.Configured.ID != "" && t.Configured.ID != s.ID {
			continue
		}
		remembered := RememberedServer{ID: s.ID}
		if listed := RememberedTools(s); listed != nil {
			definitions := make([]json.RawMessage, len(listed))
			for i, tool := range listed {
				if definitions[i], err = mcp.Marshal(tool); err != nil {
					return nil, err
				}
			}
			remembered.Tools = offeredTools(s, definitions)
		}
		all = append(all, remembered)
	}
	return all, nil
}

// IDs returns the ids of all configured servers that may be started, if they are the target; else
// nil.
func (t *Target) IDs() []string {
	if !t.Servers {
		return nil
	}
	c, env, err := t.Configured.Load()
	if err != nil {
		return nil
	}
	return IDs(usableServers(c, env))
}

// checkServers is Check for all configured servers. own is a flag of stdwire's own server, or "".
func (t *Target) checkServers(own string) error {
	switch {
	case t.Connection != "" || t.Configured.ID != "" || t.Remote.URL != "" || t.Words != nil:
		return command.Usagef("--servers and another server exclude each other")
	case own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.launchFlag() != "":
		return command.Usagef("%s is for one server", t.launchFlag()).WithHint("select one: -s ID")
	}
	return t.Remote.checkUnused()
}

// gatewayCommand returns the command of the gateway for all configured servers. Like -s it compares
// no definitions with those of before. It waits for servers as long as one may take to start,
// but not until the command's own time limit of a list, because a partial list is better than none.
func (t *Target) gatewayCommand() (words []string, err error) {
	wait := time.Minute
	if t.ListTimeout > 0 {
		wait = min(wait, (t.ListTimeout+1)/2)
	}
	self, err := os.Executable()
	return append([]string{self, "serve", "--servers", "--no-desc-prefix", "--pins=off",
		"--wait-lists=" + wait.String()},
		t.configArgs...), err
}

// isGateway reports whether a configured server is this program as a gateway.
func isGateway(s *config.Server) bool {
	if len(s.Args) == 0 || s.Args[0] != "serve" || !isStdwire(s.Command) {
		return false
	}
	return slices.ContainsFunc(s.Args[1:], func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{ServersFlag, "--config", "--profile"}, flag)
	})
}

// isStdwire reports whether a command is this program, by its path or its name.
func isStdwire(command string) bool {
	self, err := os.Executable()
	name := filepath.Base(command)
	return err == nil && command == self || name == "stdwire" ||
		strings.EqualFold(name, "stdwire.exe")
}
