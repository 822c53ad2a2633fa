package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPrompt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "name")
	assert.NilError(t, os.WriteFile(file, []byte("Ann\n"), 0o600))
	args := "prompt greet city=012 name=@" + file
	const text = `Hello {"city":"012","name":"Ann\n"}`
	assert.Equal(t, against(t, args, "library"),
		ran{0, "user:\n" + text + "\n\nassistant:\n[image image/png 4 B → --save DIR]\n", ""})
	assert.Equal(t, against(t, args+" -o raw", "library"), ran{0, text + "\x89PNG", ""})
	want := strings.Replace(libraryGreet, "ARGS", `{\"city\":\"012\",\"name\":\"Ann\\n\"}`, 1)
	assert.Equal(t, against(t, args+" -o json", "library"), ran{0, want + "\n", ""}, "byte by byte")
	assert.Equal(t, against(t, "prompt empty", "library"), ran{0, "", ""})
	assert.Equal(t, against(t, "prompt greet city=./x.mcpb name=https://a.example -o raw", "library"),
		ran{0, `Hello {"city":"./x.mcpb","name":"https://a.example"}` + "\x89PNG", ""}, "no addresses")
}
