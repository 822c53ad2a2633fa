package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/internal/printable"
)

func TestConfigUsage(t *testing.T) {
	commandtest.Project(t, nil)
	for _, tt := range []struct{ args, stderr string }{
		{"config", "stdwire: config: which subcommand?\nhint: there are check, show, where, import, schema\n"},
		{"config chek", "stdwire: config: \"chek\" is not one of check, show, where, import, schema\nhint: did you mean check?\n"},
		{"config check x", "stdwire: config check: unexpected argument \"x\"\n"},
		{"config show --input a=b", "stdwire: config show: unknown flag --input\n"},
		{"config check --input secret", "stdwire: config check: --input: the value is not ID=VALUE\n"},
		{"config import", "stdwire: config import: from which file?\n"},
		{"config import x --force", "stdwire: config import: --force is for --into\n"},
		{"config check --config=",
			"stdwire: config check: --config: the name of the file is empty\n"},
		{"tools --config x",
			"stdwire: tools: --config is for a server of the configuration\n" +
				"hint: select one: -s ID, or all: --servers\n"},
		{"tools --input a=b -- x",
			"stdwire: tools: --input is for a server of the configuration\n"},
		{"tools -s a -- x",
			"stdwire: tools: -s a and another server exclude each other\n"},
		{"tools -s a --url http://x",
			"stdwire: tools: -s a and another server exclude each other\n"},
		{"tools -s a --write", "stdwire: tools: --write is for stdwire's own server\n"},
		{"tools -s a", "stdwire: tools: there is no server \"a\"\nhint: stdwire config where shows which files are searched\n"},
		{"trust a b", "stdwire: trust: unexpected argument \"b\"\n"},
		{"trust", "stdwire: trust: no project file in "},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), got.stderr)
		assert.Equal(t, got.stdout, "")
		assert.Assert(t, !strings.Contains(got.stderr, "secret"))
	}
	for _, name := range []string{"check", "show", "where", "import"} {
		got := run(t, "config", name, "--help")
		assert.Equal(t, got.code, 0)
		assert.Assert(t, strings.HasPrefix(got.stdout, "usage: stdwire config "+name+" "),
			got.stdout)
		assert.Assert(t,
			cmp.Contains(run(t, "help", "config").stdout, "  stdwire config "+name+" "))
		for line := range strings.SplitSeq(got.stdout, "\n") {
			assert.Assert(t, len([]rune(line)) <= printable.Width+1, line)
		}
	}
}
