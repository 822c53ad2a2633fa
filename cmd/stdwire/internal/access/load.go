package access

import (
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/internal/userfile"
)

const policyFlag = "--policy"

// FileFlag is the flag for a file of rules.
func FileFlag(file *string) command.Flag {
	return command.FileFlag(file, policyFlag,
		"a file with rules about who may do what, besides those of the configuration")
}

// Load returns the rules of a file and of a configuration as one; "" and nil are none. It returns
// nil if there are no rules.
func Load(file string, c *config.Config) (*policy.Policy, error) {
	var tables []*policy.Policy
	if file != "" {
		content, err := userfile.Text(userfile.Read(file, jsonedit.MaxText))
		if err != nil {
			return nil, command.Usagef("%s: %v", policyFlag, err)
		}
		table, err := policy.ParseFile(file, content)
		if err != nil {
			return nil, &command.Failure{Code: "config", What: policyFlag, Why: err.Error()}
		}
		tables = append(tables, table)
	}
	if c != nil && c.Policy != nil {
		tables = append(tables, c.Policy)
	}
	if tables == nil {
		return nil, nil
	}
	return policy.Merge(tables...), nil
}
