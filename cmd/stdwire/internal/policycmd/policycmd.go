// Package policycmd is stdwire policy, which explains decisions of rules and tests rules, without
// starting a server.
package policycmd

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/policy"
)

// PolicyCommand is stdwire policy.
func PolicyCommand() command.Command {
	all := command.Subcommands{explainCommand(), testCommand()}
	return command.Command{
		Name: "policy", Usage: "explain|test [FLAG]… [-h]",
		Summary: "explain and test the rules about who may do what",
		Help: `The rules are those of --policy and of the member policy of the configuration; stdwire help policy
describes them. No server is started.

` + all.List(),
		Subcommands: all,
		Make:        all.Make,
	}
}

// rulesFlags are the flags that say which rules are meant.
type rulesFlags struct {
	file string
	from target.ConfigFlags
}

func (r *rulesFlags) flags() []command.Flag {
	return []command.Flag{access.FileFlag(&r.file), r.from.FileFlag()}
}

// load returns the rules. A file of --policy is enough; without it, the configuration has them.
func (r *rulesFlags) load() (*policy.Policy, error) {
	if r.file != "" && r.from.Files == nil {
		return access.Load(r.file, nil)
	}
	c, err := r.from.Select("")
	if err != nil {
		return nil, err
	}
	p, err := access.Load(r.file, c.All)
	if err == nil && p == nil {
		err = (&command.Failure{Code: "config", Why: "there are no rules"}).WithHint(
			"name a file with --policy, or a configuration that has the member policy")
	}
	return p, err
}
