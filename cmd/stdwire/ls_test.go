package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
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
