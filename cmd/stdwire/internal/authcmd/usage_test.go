package authcmd_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/authcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

var commands = command.Table{authcmd.AuthCommand()}

func TestAuthUsage(t *testing.T) {
	commandtest.Project(t, nil)
	for _, tt := range []struct{ args, stderr string }{
		{"auth", "stdwire: auth: which subcommand?\nhint: there are login, status, logout, users, revoke, token\n"},
		{"auth logn", "stdwire: auth: \"logn\" is not one of login, status, logout, users, revoke, token\nhint: did you mean login?\n"},
		{"auth login", "stdwire: auth login: which server?\n"},
		{"auth logout", "stdwire: auth logout: which server?\n"},
		{"auth login a b", "stdwire: auth login: unexpected argument \"b\"\n"},
		{"auth login https://a.example https://b.example",
			"stdwire: auth login: unexpected argument \"https://b.example\"\n"},
		{"auth login ftp://s3cret@a.example", "stdwire: auth login: --url: the value is not an http or https URL\n"},
		{"auth login https://a.example --config x",
			"stdwire: auth login: --config is for a server of the configuration\n"},
	} {
		got := commandtest.Run(t, commands, strings.Fields(tt.args)...)
		assert.Equal(t, got.Code, 2, tt.args)
		assert.Assert(t, strings.HasPrefix(got.Stderr, tt.stderr), got.Stderr)
		assert.Assert(t, !strings.Contains(got.Stderr, "s3cret"))
	}
}
