//go:build linux

package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// skillServers returns the fixture's skills, served by itself, by stdwire serve, and through a
// gateway.
func skillServers(t *testing.T, b *bench) map[string][]string {
	t.Helper()
	server, err := everything()
	assert.NilError(t, err)
	assert.NilError(t, os.CopyFS(b.path("skills"), os.DirFS("everything-server/skills")))
	b.write("mcp.json", fmt.Sprintf(`{"mcpServers":{"up":{"command":%q}}}`, server))
	assert.NilError(t, os.Mkdir(b.path("root"), 0o700))
	return map[string][]string{
		"library": {server},
		"binary":  {binary(t), "serve", "--root", "root", "--skills", "skills"},
		"gateway": {binary(t), "serve", "--config", "mcp.json"},
	}
}

// seenSkills is the output of skills.mjs.
type seenSkills struct {
	Supported, Directories bool
	None                   int
	Skills                 []struct {
		URI               string
		Same, Frontmatter bool
		Files             map[string]int
		Children, Walked  int
	}
}

// The client of the extension reads and verifies all files, in both eras.
func TestSkillsClient(t *testing.T) {
	for _, era := range []any{"legacy", map[string]string{"pin": "2026-07-28"}} {
		b := newNodeBench(t)
		script, err := os.ReadFile("node/skills.mjs")
		assert.NilError(t, err)
		b.write("skills.mjs", string(script))
		for name, command := range skillServers(t, b) {
			t.Run(fmt.Sprint(name, " ", era), func(t *testing.T) {
				what, err := json.Marshal(
					map[string]any{"era": era, "command": b.tapped("record "+name, command...)})
				assert.NilError(t, err)
				o := b.must("node", "skills.mjs", string(what))
				var got seenSkills
				assert.NilError(t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)
				assert.Assert(t, got.Supported && got.Directories)
				assert.Equal(t, got.None, -32602)
				assert.Equal(t, len(got.Skills), 2)
				refunds, pdf := got.Skills[0], got.Skills[1]
				assert.Equal(t, refunds.URI, "skill://acme/refunds/SKILL.md")
				assert.Equal(t, pdf.URI, "skill://pdf-processing/SKILL.md")
				assert.Assert(t, refunds.Same && refunds.Frontmatter && pdf.Same && pdf.Frontmatter)
				assert.Equal(t, len(pdf.Files), 4)
				assert.Equal(t, pdf.Files["templates/regional/de.md"], len("# Rechnung\n"))
				assert.Equal(t, pdf.Children, 3)
				b.checkServer("record " + name)
			})
		}
	}
}

// The inspector's checks of skills succeed, for the entries and for the digests of all files.
func TestInspectorVerifiesSkills(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		b := newNodeBench(t)
		for name, command := range skillServers(t, b) {
			t.Run(name+" "+era, func(t *testing.T) {
				o := b.must(append([]string{"mcp-inspector", "--cli", "--format", "json",
					"--protocol-era", era, "--method", "skills/list", "--verify", "--require-digests",
					"--"}, command...)...)
				assert.Equal(t, strings.Count(o.stdout, `"ok":true`), 2, "%v", o)
				assert.Equal(t, strings.Count(o.stdout, `"status":"verified"`), 6, "%v", o)
			})
		}
	}
}

// The skills of a server in TypeScript have the entries that package skill computes from the same
// files, and can be read.
func TestSkillsOfTypeScriptServer(t *testing.T) {
	b := newNodeBench(t)
	script, err := os.ReadFile("node/skillsserver.mjs")
	assert.NilError(t, err)
	b.write("skillsserver.mjs", string(script))
	files := os.DirFS("everything-server/skills")
	assert.NilError(t, os.CopyFS(b.path("skills"), files))
	tree, err := skill.Read(files)
	assert.NilError(t, err)
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			c, err := client.Options{Era: era}.Spawn(t.Context(),
				client.Command{Path: b.path("node_modules/.bin/node"), Dir: b.dir,
					Args: []string{"skillsserver.mjs", "skills"}})
			assert.NilError(t, err)
			defer c.Close()
			n := 0
			for entry, err := range c.Skills(t.Context()) {
				assert.NilError(t, err)
				own := tree.Skill(entry.URI)
				assert.Assert(t, own != nil, entry.URI)
				n++
				assert.Equal(t, len(entry.Resources.Files), len(own.Resources.Files))
				for _, f := range entry.Resources.Files {
					content, err := c.ReadSkillFile(t.Context(), entry, f.URI)
					assert.NilError(t, err)
					assert.Equal(t, f.Digest, tree.Files[f.URI].Digest)
					assert.Equal(t, f.Size, int64(len(content)))
				}
			}
			assert.Equal(t, n, len(tree.Skills))
		})
	}
}
