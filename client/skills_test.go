package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const skillText = "---\nname: pdf\ndescription: Fill forms.\n---\nbody\n"

// skillFS returns the file system of a server with the skill pdf.
func skillFS() fstest.MapFS {
	return fstest.MapFS{"pdf/SKILL.md": {Data: []byte(skillText)},
		"pdf/a/FORMS.md": {Data: []byte("forms")}, "pdf/a/logo.png": {Data: []byte("\x89PNG")}}
}

func TestSkills(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		s := newServer(server.Options{PageSize: 1})
		assert.NilError(t, s.AddSkills(skillFS()))
		assert.NilError(t, s.AddSkills(fstest.MapFS{"b/SKILL.md": {Data: []byte(
			"---\nname: b\ndescription: B.\n---\n")}}))
		c := connectTo(t, s, Options{Era: era})
		skills, err := All(c.Skills(t.Context()))
		assert.NilError(t, err)
		assert.Equal(t, len(skills), 2)
		pdf, err := c.Skill(t.Context(), "skill://pdf/SKILL.md")
		assert.NilError(t, err)
		assert.DeepEqual(t, pdf, skills[1])
		for uri, want := range map[string]string{pdf.URI: skillText,
			"skill://pdf/a/FORMS.md": "forms", "skill://pdf/a/logo.png": "\x89PNG"} {
			content, err := c.ReadSkillFile(t.Context(), pdf, uri)
			assert.NilError(t, err)
			assert.Equal(t, string(content), want)
		}
		var names []string
		for r, err := range c.ReadDirectory(t.Context(), "skill://pdf/a") {
			assert.NilError(t, err)
			names = append(names, r.Name)
		}
		assert.DeepEqual(t, names, []string{"FORMS.md", "logo.png"})
		_, err = c.Skill(t.Context(), "skill://none/SKILL.md")
		refused, ok := errors.AsType[*rpc.Error](err)
		assert.Assert(t, ok && refused.Code == rpc.CodeInvalidParams, "%v", err)
	})
}

// The client sends no request to a server that does not declare the extension.
func TestNoSkills(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		c := connectTo(t, newServer(server.Options{}), Options{Era: era})
		_, listed := All(c.Skills(t.Context()))
		_, got := c.Skill(t.Context(), "skill://x/SKILL.md")
		_, read := All(c.ReadDirectory(t.Context(), "skill://x"))
		for _, err := range []error{listed, got, read} {
			assert.ErrorIs(t, err, ErrUndeclared)
		}
	})
}

// tampered returns a client of a server whose skill has the given entry and files.
func tampered(t *testing.T, change func(*mcp.Skill), files map[string]string,
	reads *[]string) (*Client, *mcp.Skill) {
	t.Helper()
	digest := func(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }
	entry := mcp.Skill{URI: "skill://pdf/SKILL.md",
		Frontmatter: json.RawMessage(`{"description":"Fill forms.","name":"pdf"}`),
		Resources: mcp.SkillResources{Files: []mcp.SkillResource{
			{URI: "skill://pdf/SKILL.md", Digest: digest(skillText), Size: int64(len(skillText))},
			{URI: "skill://pdf/FORMS.md", Digest: digest("forms"), Size: 5}}}}
	change(&entry)
	s := newServer(server.Options{ListTTL: 1 << 40})
	assert.NilError(t, s.AddSkill(server.Skill{Skill: entry,
		Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			*reads = append(*reads, uri)
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: files[uri]}}}, nil
		}}))
	c := connectTo(t, s, Options{Name: "docs"})
	all, err := All(c.Skills(t.Context()))
	assert.NilError(t, err)
	assert.Equal(t, len(*reads), 0) // nothing is read in advance
	return c, all[0]
}

// Content that differs from the entry is refused on each read.
func TestReadSkillFileVerifies(t *testing.T) {
	good := map[string]string{"skill://pdf/SKILL.md": skillText, "skill://pdf/FORMS.md": "forms"}
	nothing := func(*mcp.Skill) {}
	for want, test := range map[string]struct {
		change func(*mcp.Skill)
		files  map[string]string
		uri    string
	}{
		"its digest is sha256:": {nothing, map[string]string{"skill://pdf/FORMS.md": "FORMS"},
			"skill://pdf/FORMS.md"},
		"it has 6 bytes; the entry declares 5": {nothing,
			map[string]string{"skill://pdf/FORMS.md": "forms!"}, "skill://pdf/FORMS.md"},
		`"description" in its front matter differs from the skill's entry`: {
			func(s *mcp.Skill) {
				s.Frontmatter = json.RawMessage(`{"name":"pdf","description":"Harmless."}`)
			}, good, "skill://pdf/SKILL.md"},
		`"allowed-tools" in its front matter differs`: {
			func(s *mcp.Skill) {
				s.Resources = mcp.SkillResources{Dynamic: true}
				s.Frontmatter = json.RawMessage(
					`{"name":"pdf","description":"Fill forms.","allowed-tools":"Read"}`)
			}, good, "skill://pdf/SKILL.md"},
	} {
		var reads []string
		c, s := tampered(t, test.change, test.files, &reads)
		for range 2 {
			_, err := c.ReadSkillFile(t.Context(), s, test.uri)
			e, ok := errors.AsType[*SkillError](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, e.Server, "docs")
			assert.Equal(t, e.URI, test.uri)
			assert.ErrorContains(t, err, want)
		}
		assert.Equal(t, len(reads), 2)
	}
}

// A file that the entry does not list is not requested.
func TestReadSkillFileOutside(t *testing.T) {
	var reads []string
	c, s := tampered(t, func(*mcp.Skill) {}, nil, &reads)
	for _, uri := range []string{"skill://pdf/OTHER.md", "skill://pdf/../x", "file:///etc/passwd", ""} {
		_, err := c.ReadSkillFile(t.Context(), s, uri)
		assert.ErrorContains(t, err, "the skill does not list it")
	}
	s.Resources = mcp.SkillResources{Dynamic: true}
	_, err := c.ReadSkillFile(t.Context(), s, "skill://other/SKILL.md")
	assert.ErrorContains(t, err, "the skill does not list it")
	assert.Equal(t, len(reads), 0)
}

// Entries that no host may load are omitted and logged.
func TestInvalidSkillEntries(t *testing.T) {
	result := `{"skills":[{"uri":"skill://a/SKILL.md"},7,
		{"uri":"skill://b/SKILL.md","frontmatter":{"name":"b","description":"d"},"resources":null},
		{"uri":"skill://c/SKILL.md","frontmatter":{"name":"x","description":"d"},"resources":"dynamic"},
		{"uri":"skill://d/SKILL.md","frontmatter":{"name":"d","description":"d"},"resources":"dynamic"}],
		"skill":{"uri":"skill://d/SKILL.md","frontmatter":{"name":"d","description":"d"},"resources":"dynamic"}}`
	o := server.Options{Middleware: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, r *rpc.Request) (any, error) {
			if strings.HasPrefix(r.Method, "skills/") {
				return json.RawMessage(result), nil
			}
			return next(ctx, r)
		}
	}}}
	s := newServer(o)
	s.Integration().Declare(mcp.KindSkill)
	var log bytes.Buffer
	c := connectTo(t, s, Options{Name: "docs", Era: mcp.Legacy,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	skills, err := All(c.Skills(t.Context()))
	assert.NilError(t, err)
	assert.Equal(t, len(skills), 1)
	assert.Equal(t, skills[0].URI, "skill://d/SKILL.md")
	assert.Equal(t, strings.Count(log.String(), "a skill is omitted"), 4)
	_, err = c.Skill(t.Context(), "skill://e/SKILL.md")
	assert.ErrorContains(t, err, "the server has sent the entry of another skill")
}
