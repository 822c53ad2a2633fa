package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// skillDir returns a directory with a skill, and with one that is not valid.
func skillDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pdf/SKILL.md":            "---\nname: pdf\ndescription: Fills forms.\n---\n# PDF\n",
		"pdf/references/FORMS.md": "A form has fields.\n",
		"a/pdf/SKILL.md":          "---\nname: pdf\ndescription: Another one.\n---\n",
		"bad/SKILL.md":            "# no front matter\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// skillServer returns the words that select stdwire serve with these skills as the server.
func skillServer(t *testing.T, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	return []string{"--", self, "serve", "--root", dir, "--skills", dir}
}

func TestSkillCommands(t *testing.T) {
	t.Parallel()
	dir, out := skillDir(t), t.TempDir()
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"ls skills", 0, "pdf skill://a/pdf/SKILL.md (1 file, 44 B)\n    Another one.\n\n" +
			"pdf skill://pdf/SKILL.md (2 files, 69 B)\n    Fills forms.\n", ""},
		{"ls -o json", 0, `"skills":[{"uri":"skill://a/pdf/SKILL.md"`, ""},
		{"skill get skill://pdf/SKILL.md", 0, "description: Fills forms.\n---\n# PDF\n", ""},
		{"skill get skill://pdf/SKILL.md references/FORMS.md -o raw", 0, "A form has fields.\n", ""},
		{"skill get skill://pdf/SKILL.md -o json", 0,
			`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"Fills forms."},"resources":[`,
			""},
		{"skill get pdf", 2, "", "2 skills of this name: skill://a/pdf/SKILL.md, skill://pdf/SKILL.md"},
		{"skill get nothing", 5, "", "there is no such skill"},
		{"skill get skill://none/SKILL.md", 5, "", "There is no skill at"},
		{"skill get https://none.example/SKILL.md", 5, "", "There is no skill at"},
		{"skill get skill://pdf/SKILL.md ./x.mcpb", 5, "", "there are SKILL.md, references/FORMS.md"},
		{"skill get skill://pdf/SKILL.md none", 5, "", "there are SKILL.md, references/FORMS.md"},
		{"skill get", 2, "", "which skill?"},
		{"skill get a b c", 2, "", `unexpected argument "c"`},
		{"skill get skill://pdf/SKILL.md b --save x", 2, "", "--save saves all files"},
		{"skill get skill://pdf/SKILL.md -o json --save x", 2, "",
			`"message":"skill get: --save prints only the directory"`},
		{"skill get skill://pdf/SKILL.md --save " + out, 0, filepath.Join("pdf") + "\n", ""},
		{"skill get skill://pdf/SKILL.md --save " + out, 2, "", "remove it, or choose another"},
	} {
		cmd, stdout, stderr := stdwire(t,
			append(strings.Fields(test.args), skillServer(t, dir)...)...)
		err := cmd.Run()
		assert.Equal(t, exitCode(err), test.code, "%s: %s%s", test.args, stdout, stderr)
		assert.Assert(t, cmp.Contains(stdout.String(), test.stdout), test.args)
		assert.Assert(t, cmp.Contains(stderr.String(), test.stderr), test.args)
	}
	saved, err := filepath.Glob(filepath.Join(out, "*", "pdf", "references", "FORMS.md"))
	assert.NilError(t, err)
	assert.Equal(t, len(saved), 1) // below the name of the server
	text, err := os.ReadFile(saved[0])
	assert.NilError(t, err)
	assert.Equal(t, string(text), "A form has fields.\n")
}

func TestSkillsInTheShell(t *testing.T) {
	t.Parallel()
	dir := skillDir(t)
	for _, test := range []struct {
		script         string
		code           int
		stdout, stderr string
	}{
		{".skills", 0, "pdf skill://pdf/SKILL.md (2 files, 69 B)\n    Fills forms.\n", ""},
		{".skill skill://pdf/SKILL.md", 0, "description: Fills forms.\n---\n# PDF\n", ""},
		{".output raw\n.skill skill://pdf/SKILL.md references/FORMS.md", 0, "A form has fields.\n", ""},
		{".skill pdf", 2, "", "2 skills of this name: skill://a/pdf/SKILL.md, skill://pdf/SKILL.md"},
		{".skill nothing", 5, "", "there is no such skill"},
		{".skill", 2, "", ".skill NAME|URI [FILE]"},
	} {
		c := termtest.Capture(false)
		c.In = strings.NewReader(test.script)
		got := runWith(t.Context(), c, append([]string{"shell"}, skillServer(t, dir)...)...)
		assert.Equal(t, got.code, test.code, "%s: %s", test.script, got)
		assert.Assert(t, cmp.Contains(got.stdout, test.stdout), test.script)
		assert.Assert(t, cmp.Contains(got.stderr, test.stderr), test.script)
	}
	got := scripted(t, "", ".skills", "good")
	assert.Assert(t, cmp.Contains(got.stderr, "skills"), got.stderr)
	assert.Assert(t, got.code != 0)
}

// serveTamperedSkill serves a skill with a file that is not what the entry says.
func serveTamperedSkill([]string) {
	s := server.New(server.Info{Name: "tampered", Version: "1"}, nil)
	const none = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	err := s.AddSkill(server.Skill{
		Skill: mcp.Skill{URI: "skill://x/SKILL.md",
			Frontmatter: json.RawMessage(`{"name":"x","description":"d"}`),
			Resources: mcp.SkillResources{Files: []mcp.SkillResource{
				{URI: "skill://x/SKILL.md", Digest: none, Size: 4}}}},
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: "evil"}}}, nil
		}})
	if err != nil {
		panic(err)
	}
	_ = s.ServeStdio(context.Background())
}

// A file that is not what the entry says is not printed, leaves nothing saved, and is a finding.
func TestTamperedSkill(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	for _, args := range [][]string{{"skill", "get", "x"}, {"skill", "get", "x", "--save", out},
		{"scan", "--fail-on", "medium"}} {
		cmd, stdout, stderr := stdwire(t, append(args, fixture("tampered-skill")...)...)
		err := cmd.Run()
		assert.Assert(t, exitCode(err) != 0, "%s", stdout)
		assert.Assert(t, cmp.Contains(stdout.String()+stderr.String(), "its digest is"))
		assert.Assert(t, !strings.Contains(stdout.String(), "evil"))
	}
	left, err := filepath.Glob(filepath.Join(out, "*", "*"))
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
}

// What is changed in a directory of skills is served and announced, and what is wrong is logged.
func TestServeSkillsReloads(t *testing.T) {
	t.Parallel()
	dir := skillDir(t)
	words := skillServer(t, dir)
	changed := make(chan struct{}, 10)
	var stderr lockedbuffer.Buffer
	o := client.Options{OnListChanged: func(kind mcp.Kind) {
		if kind == mcp.KindResource {
			changed <- struct{}{}
		}
	}}
	c, err := o.Spawn(t.Context(),
		client.Command{Path: words[1], Args: words[2:], Stderr: &stderr})
	assert.NilError(t, err)
	defer c.Close()
	entry, err := c.Skill(t.Context(), "skill://pdf/SKILL.md")
	assert.NilError(t, err)
	file := filepath.Join(dir, "pdf", "references", "FORMS.md")
	assert.NilError(t, os.WriteFile(file, []byte("Forms have many fields.\n"), 0o600))
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("the change was not announced")
	}
	_, err = c.ReadSkillFile(t.Context(), entry, "skill://pdf/references/FORMS.md")
	assert.ErrorContains(t, err, "must not be used: it has 24 bytes; the entry declares 19")
	entry, err = c.Skill(t.Context(), "skill://pdf/SKILL.md")
	assert.NilError(t, err)
	text, err := c.ReadSkillFile(t.Context(), entry, "skill://pdf/references/FORMS.md")
	assert.NilError(t, err)
	assert.Equal(t, string(text), "Forms have many fields.\n")
	assert.Assert(t, cmp.Contains(stderr.Take(), "bad/SKILL.md:1:1: it has no front matter"))

	for want, args := range map[string][]string{
		"--skills: ": {"serve", "--skills", filepath.Join(dir, "none")},
		// clients could have others follow what they write
		"where --write lets clients change it": {"serve", "--root", dir, "--write", "--skills",
			filepath.Join(dir, "pdf")},
	} {
		cmd, _, failure := stdwire(t, args...)
		assert.Equal(t, exitCode(cmd.Run()), 2)
		assert.Assert(t, cmp.Contains(failure.String(), want))
	}
}
