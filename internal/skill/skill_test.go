package skill_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func text(name string) *fstest.MapFile {
	return file("---\nname: " + name + "\ndescription: About " + name + ".\n---\n\n# Body\n")
}

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func sum(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func TestRead(t *testing.T) {
	link := &fstest.MapFile{Data: []byte("../references/FORMS.md"), Mode: fs.ModeSymlink}
	tree, err := skill.Read(fstest.MapFS{
		"README.md":                     file("not of a skill"),
		"pdf/SKILL.md":                  text("pdf"),
		"pdf/references/FORMS.md":       file("forms"),
		"pdf/references/a b#.txt":       file(""),
		"pdf/.git/config":               file("hidden"),
		"pdf/templates/FORMS.md":        link,
		"pdf/nested/SKILL.md":           text("nested"),
		"pdf/nested/x.bin":              file("\xff\x00"),
		"acme/billing/refunds/SKILL.md": text("refunds"),
	})
	assert.NilError(t, err)
	assert.Assert(t, tree.Problems == nil, "%v", tree.Problems)
	var got []string
	for _, s := range tree.Skills {
		assert.NilError(t, skill.Check(s))
		got = append(got, s.URI)
		for _, f := range s.Resources.Files {
			got = append(got, "  "+f.URI)
		}
	}
	assert.DeepEqual(t, got, []string{
		"skill://acme/billing/refunds/SKILL.md",
		"  skill://acme/billing/refunds/SKILL.md",
		"skill://pdf/SKILL.md",
		"  skill://pdf/SKILL.md",
		"  skill://pdf/nested/SKILL.md",
		"  skill://pdf/nested/x.bin",
		"  skill://pdf/references/FORMS.md",
		"  skill://pdf/references/a%20b%23.txt",
		"  skill://pdf/templates/FORMS.md",
		"skill://pdf/nested/SKILL.md",
		"  skill://pdf/nested/SKILL.md",
		"  skill://pdf/nested/x.bin",
	})
	forms := tree.Files["skill://pdf/templates/FORMS.md"]
	assert.Equal(t, forms.Digest, sum("forms"))
	assert.Equal(t, forms.Size, int64(5))
	content, err := forms.Read()
	assert.NilError(t, err)
	assert.Equal(t, string(content), "forms")
	assert.Equal(t, string(tree.Skill("skill://pdf/SKILL.md").Frontmatter),
		`{"name":"pdf","description":"About pdf."}`)
}

// A directory that is itself a skill is served by its name.
func TestReadOneSkill(t *testing.T) {
	tree, err := skill.Read(fstest.MapFS{"SKILL.md": text("pdf"), "a/b.md": file("b")})
	assert.NilError(t, err)
	assert.Equal(t, tree.Skills[0].URI, "skill://pdf/SKILL.md")
	assert.Equal(t, tree.Skills[0].Resources.Files[1].URI, "skill://pdf/a/b.md")
}

// An invalid skill does not affect the others, and its error suggests a remedy.
func TestProblems(t *testing.T) {
	many := fstest.MapFS{"s/SKILL.md": text("s")}
	for i := range skill.MaxFiles {
		many[fmt.Sprintf("s/%d", i)] = file("")
	}
	with := func(content string) fstest.MapFS { return fstest.MapFS{"s/SKILL.md": file(content)} }
	for _, test := range []struct {
		fsys fstest.MapFS
		want string
	}{
		{with("---\nname: s\ndescription: d\n---\n\xff\n"), "s/SKILL.md:5:1: this line is not UTF-8; save"},
		{with("# s\n"), "s/SKILL.md:1:1: it has no front matter; start it with a line ---"},
		{with(""), "s/SKILL.md:1:1: it has no front matter"},
		{with("\ufeff---\nname: s\n---\n"), "s/SKILL.md:1:1: it has no front matter"},
		{with("---\nname: s\n"), "s/SKILL.md:1:1: the front matter does not end; add a line ---"},
		{with("---\n---\n"), "s/SKILL.md:2:1: the document is empty"},
		{with("---\nname: s\ndescription: a: b\n---\n"), `s/SKILL.md:3:14: a value with ": "`},
		{with("---\nname: PDF Tools\ndescription: d\n---\n"),
			`s/SKILL.md:2:1: the name "PDF Tools" is not valid; use 1 to 64 of a-z`},
		{with("---\nname: a--b\ndescription: d\n---\n"), `the name "a--b" is not valid`},
		{with("---\nname: 7\ndescription: d\n---\n"), "needs a name that is text; add name:"},
		{with("---\nname: s\n---\n"), "needs a description that is text; add description:"},
		{with("---\nname: s\ndescription: ''\n---\n"), "needs a description that is text"},
		{with("---\nname: s\ndescription: " + strings.Repeat("x", 1025) + "\n---\n"),
			"the description has 1025 characters, more than 1024; shorten it"},
		{with("---\nname: other\ndescription: d\n---\n"),
			`s/SKILL.md: the name "other" differs from the directory "s"; rename one of them`},
		{many, "s: the skill has 513 files, and hosts accept 512; remove some, or split it"},
		{fstest.MapFS{"s/SKILL.md": text("s"), "s/a": file(strings.Repeat("x", skill.MaxBytes))},
			"hosts accept 16777216; remove some"},
		{fstest.MapFS{"s/SKILL.md": text("s"),
			"s/out": {Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink}},
			"s/out: the link leads to no regular file of the served directory; replace it by a copy"},
		{fstest.MapFS{"s/SKILL.md": text("s"), "s/abs": {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink}},
			"s/abs: the link leads to no regular file"},
		{fstest.MapFS{"s/SKILL.md": text("s"), "s/dir": {Data: []byte("../good"), Mode: fs.ModeSymlink}},
			"s/dir: the link leads to no regular file"},
		{fstest.MapFS{"s/SKILL.md": text("s"), "s/pipe": {Mode: fs.ModeNamedPipe}},
			"s/pipe: it is no regular file; remove it"},
		{fstest.MapFS{"s": {Data: []byte("../elsewhere/s"), Mode: fs.ModeSymlink}},
			"s: the link leads to no regular file of the served directory; replace it by a copy, or"},
		{fstest.MapFS{"a b/s/SKILL.md": text("s")},
			`a b/s/SKILL.md: the directory "a b" cannot be the start of a URI; rename it`},
	} {
		test.fsys["good/SKILL.md"] = text("good")
		tree, err := skill.Read(test.fsys)
		assert.NilError(t, err)
		assert.Equal(t, len(tree.Problems), 1, "%v", tree.Problems)
		assert.ErrorContains(t, tree.Problems[0], test.want)
		assert.Equal(t, len(tree.Skills), 1)
		assert.Equal(t, tree.Skills[0].URI, "skill://good/SKILL.md")
		for uri := range tree.Files {
			assert.Assert(t, strings.HasPrefix(uri, "skill://good/"), uri)
		}
	}
}

func TestFileThatChanges(t *testing.T) {
	fsys := fstest.MapFS{"s/SKILL.md": text("s"), "s/a": file("one")}
	tree, err := skill.Read(fsys)
	assert.NilError(t, err)
	for _, content := range []string{"two", "longer", "", "on"} {
		fsys["s/a"] = file(content)
		_, err = tree.Files["skill://s/a"].Read()
		assert.ErrorIs(t, err, skill.ErrChanged, "%q", content)
	}
}

func TestCheck(t *testing.T) {
	good := func() *mcp.Skill {
		return &mcp.Skill{URI: "github://o/r/s/SKILL.md",
			Frontmatter: []byte(`{"name":"s","description":"d"}`),
			Resources: mcp.SkillResources{Files: []mcp.SkillResource{
				{URI: "github://o/r/s/SKILL.md", Digest: sum("a"), Size: 1},
				{URI: "github://o/r/s/b/c.md", Digest: sum("b"), Size: 1}}}}
	}
	assert.NilError(t, skill.Check(good()))
	for want, change := range map[string]func(s *mcp.Skill){
		"not that of a SKILL.md":      func(s *mcp.Skill) { s.URI = "skill://s/skill.md" },
		"SKILL.md in a directory":     func(s *mcp.Skill) { s.URI = "skill:///SKILL.md" },
		"is not the last directory":   func(s *mcp.Skill) { s.URI = "skill://t/SKILL.md" },
		"needs a name":                func(s *mcp.Skill) { s.Frontmatter = []byte(`{}`) },
		"do not include its SKILL.md": func(s *mcp.Skill) { s.Resources.Files = s.Resources.Files[1:] },
		"is not in the directory":     func(s *mcp.Skill) { s.Resources.Files[1].URI = "github://o/r/x" },
		"in the directory of":         func(s *mcp.Skill) { s.Resources.Files[1].URI = "github://o/r/s/../x" },
		"not in the directory of the": func(s *mcp.Skill) { s.Resources.Files[1].URI = "github://o/r/s/%2e%2E/x" },
		"is not in the directory of":  func(s *mcp.Skill) { s.Resources.Files[1].URI = "github://o/r/s/..%2fx" },
		"listed twice":                func(s *mcp.Skill) { s.Resources.Files[1] = s.Resources.Files[0] },
		"the digest":                  func(s *mcp.Skill) { s.Resources.Files[1].Digest = "sha256:AB" },
		"the size -1":                 func(s *mcp.Skill) { s.Resources.Files[1].Size = -1 },
		"have 16777217 bytes":         func(s *mcp.Skill) { s.Resources.Files[1].Size = skill.MaxBytes },
		"the skill has 513 files":     func(s *mcp.Skill) { s.Resources.Files = make([]mcp.SkillResource, 513) },
	} {
		s := good()
		change(s)
		assert.ErrorContains(t, skill.Check(s), want)
	}
}

func TestVerify(t *testing.T) {
	content := "---\nname: s\ndescription: d\nversion: 1.0\n---\nbody"
	s := &mcp.Skill{URI: "skill://s/SKILL.md",
		Frontmatter: []byte(`{"description":"d","name":"s","version":1}`),
		Resources: mcp.SkillResources{Files: []mcp.SkillResource{
			{URI: "skill://s/SKILL.md", Digest: sum(content), Size: int64(len(content))}}}}
	verify := func(uri, content string) error { return skill.Verify(s, uri, []byte(content)) }
	assert.NilError(t, verify(s.URI, content))
	assert.ErrorContains(t, verify("skill://s/b", ""), "the skill does not list this file")
	assert.ErrorContains(t, verify(s.URI, content+"!"), "bytes; the entry declares")
	assert.ErrorContains(t, verify(s.URI, content[:len(content)-1]+"!"), "its digest is sha256:")
	s.Frontmatter = []byte(`{"description":"d","name":"s","version":2}`)
	assert.ErrorContains(t, verify(s.URI, content), `"version" in its front matter differs`)
	s.Frontmatter = []byte(`{"description":"d","name":"s","version":1,"more":null}`)
	assert.ErrorContains(t, verify(s.URI, content), `"more" in its front matter differs`)
	s.Resources = mcp.SkillResources{Dynamic: true}
	s.Frontmatter = []byte(`{"description":"d","name":"s","version":1}`)
	assert.NilError(t, verify(s.URI, content+"generated"))
	assert.NilError(t, verify("skill://s/any", "generated"))
	assert.ErrorContains(t, verify(s.URI, "no front matter"), "it has no front matter")
}
