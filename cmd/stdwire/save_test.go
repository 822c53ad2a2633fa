package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	is := func(name, content string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(dir, name))
		assert.NilError(t, err)
		assert.Equal(t, string(got), content)
	}
	got := against(t, "read file:///logo.png file:///folder --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "==> file:///logo.png <==\n[resource file:///logo.png image/png 4 B → " +
			filepath.Join(dir, "logo.png") + "]\n" +
			"==> file:///folder/a <==\nA\n==> file:///folder/b <==\n[resource file:///folder/b 2 B → " +
			filepath.Join(dir, "b.bin") + "]\n", ""})
	is("logo.png", "\x89PNG")
	is("b.bin", "\x00\x01")
	got = against(t, "call picture --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "Here:\n[image image/png 4 B → " + filepath.Join(dir, "picture-2.png") +
			"]\n[link file:///logo.png logo]\n", ""})
	is("picture-2.png", "\x89PNG")
	got = against(t, "prompt greet name=a city=b --save "+dir, "library")
	assert.Assert(t,
		cmp.Contains(got.stdout, "[image image/png 4 B → "+filepath.Join(dir, "greet-2.png")+"]\n"))

	got = against(t, "read file:///logo.png -o json --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, libraryLogo + "\n", "saved " + filepath.Join(dir, "logo-2.png") + "\n"})
	got = onTerminal(t, "", "call picture -o raw --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "Here:\nfile:///logo.png\n", "saved " + filepath.Join(dir, "picture-2-2.png") +
			"\n"})
	is("picture-2-2.png", "\x89PNG")

	assert.Equal(t, against(t, "call picture -o raw", "library"),
		ran{0, "Here:\x89PNGfile:///logo.png\n", ""})

	got = against(t, "read file:///logo.png --save "+dir+"/logo.png", "touch",
		filepath.Join(dir, "mark"))
	assert.Equal(t, got.code, 2)
	_, err := os.Stat(filepath.Join(dir, "mark"))
	assert.Assert(t, os.IsNotExist(err), "nothing was started")
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: read: --save: "), got.stderr)
}
