package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

func TestLs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, against(t, "ls", "library"), ran{0, `tools
  ask()
  page()
  log()
  can()
  picture()
  first()

resources
  file:///logo.png (image/png, 4 B)
  file:///notes.md (text/markdown)

templates
  file:///{name}

prompts
  greet(name, city, [style])
  empty()
`, ""})
	assert.Equal(t, against(t, "ls resources", "library").stdout,
		"file:///logo.png (image/png, 4 B)\n    logo.png\n\nfile:///notes.md (text/markdown)\n    Notes\n")
	assert.Equal(t, against(t, "ls templates", "library").stdout, "file:///{name}\n    Any file.\n")
	assert.Equal(t, against(t, "ls prompts", "library").stdout,
		"greet(name, city, [style])\n    Say hello.\n\nempty()\n")
	assert.Equal(t, against(t, "ls tools", "good"), against(t, "tools", "good"))

	all := `{"tools":` + libraryTools + `,"resources":` + libraryResources +
		`,"resourceTemplates":` + libraryTemplates + `,"prompts":` + libraryPrompts + "}\n"
	assert.Equal(t, against(t, "ls -o json", "library").stdout, all, "byte by byte")
	assert.Equal(t, against(t, "ls resources -o json", "library").stdout, libraryResources+"\n")
	assert.Equal(t, against(t, "ls templates -o json", "library").stdout, libraryTemplates+"\n")
	assert.Equal(t, against(t, "ls prompts -o json", "library").stdout, libraryPrompts+"\n")

	assert.Assert(t,
		strings.HasPrefix(against(t, "ls", "good").stdout,
			"tools\n  echo(text: string, [n: integer])\n  hang()\n"))
	assert.Equal(t, against(t, "ls", "toolless"), ran{0, "", "the server has nothing\n"})
	assert.Equal(t, against(t, "ls -o json", "toolless"), ran{0, "{}\n", ""})
	assert.Equal(t, against(t, "ls prompts", "toolless"),
		ran{5, "", "stdwire: " + self + ": prompts/list: the server has no prompts\n"})
	assert.Equal(t, against(t, "ls resources", "good"),
		ran{5, "", "stdwire: " + self + ": resources/list: the server has no resources\n"})
}

func TestLsCost(t *testing.T) {
	t.Parallel()
	got := against(t, "ls --cost", "library")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "BYTES  ≈ TOKENS  TOOL\n"), got.stdout)
	assert.Equal(t, lastLine(got.stdout), "379    95        all 6 tools")
	got = against(t, "tools --cost -o json", "library")
	assert.Assert(t, strings.Contains(got.stdout, `{"name":"ask","bytes":62,"tokens":16}`),
		got.stdout)
	assert.Assert(t, strings.HasSuffix(got.stdout, `],"bytes":379,"tokens":95}`+"\n"), got.stdout)
	for _, args := range []string{"ls prompts --cost", "ls tools --cost -o raw"} {
		assert.Equal(t, against(t, args, "library").code, 2, args)
	}
}

// What each server costs is known behind a gateway too.
func TestLsCostOfServers(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	config := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(config, configText(t, obj{"a": good(), "b": good()}), 0o600))
	got := run(t, "ls", "--servers", "--cost", "--config", config)
	assert.Equal(t, got.code, 0, got.stderr)
	rows := strings.Split(strings.TrimSpace(got.stdout), "\n")
	assert.Equal(t, len(rows), 1+17+2+1, got.stdout)
	for i, want := range []string{" all 8 tools of a", " all 8 tools of b", " all 17 tools"} {
		assert.Assert(t, strings.HasSuffix(rows[18+i], want), rows[18+i])
	}
}
