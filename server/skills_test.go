package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func skillFiles() fstest.MapFS {
	return fstest.MapFS{
		"pdf/SKILL.md":                {Data: []byte("---\nname: pdf\ndescription: Fill forms.\n---\nbody\n")},
		"pdf/references/FORMS.md":     {Data: []byte("forms")},
		"pdf/references/logo.png":     {Data: []byte("\x89PNG")},
		"acme/sales/refunds/SKILL.md": {Data: []byte("---\nname: refunds\ndescription: Refund.\nv: 1.0\n---\n")},
	}
}

func digest(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

// entry returns the entry of the skill pdf.
func entry(files fstest.MapFS) string {
	var resources []string
	for _, name := range []string{"SKILL.md", "references/FORMS.md", "references/logo.png"} {
		content := string(files["pdf/"+name].Data)
		resources = append(resources, fmt.Sprintf(`{"uri":"skill://pdf/%s","digest":%q,"size":%d}`,
			name, digest(content), len(content)))
	}
	return `{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"Fill forms."},` +
		`"resources":[` + strings.Join(resources, ",") + `]}`
}

func TestSkills(t *testing.T) {
	files := skillFiles()
	s := made(quiet, func(s *server.Server) { must(t, s.AddSkills(files)) })
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := connect(t, s)
		hello := k.speak(revision, `{}`)
		if k.modern() {
			hello = k.request("server/discover", "")
		}
		for _, want := range []string{`"io.modelcontextprotocol/skills":{"directoryRead":true}`,
			`"resources":{`} {
			assert.Assert(t, strings.Contains(hello.raw, want), hello.raw)
		}
		hints := `,"ttlMs":0,"cacheScope":"private"`
		own := ""
		if k.modern() {
			own = hints
		}

		other := string(files["acme/sales/refunds/SKILL.md"].Data)
		k.want("skills/list", "", `{"skills":[{"uri":"skill://acme/sales/refunds/SKILL.md",
			"frontmatter":{"name":"refunds","description":"Refund.","v":1.0},
			"resources":[{"uri":"skill://acme/sales/refunds/SKILL.md","digest":"`+digest(other)+
			`","size":`+fmt.Sprint(len(other))+`}]},`+entry(files)+`]`+hints+`}`)
		k.want("skills/get", `{"uri":"skill://pdf/SKILL.md"}`, `{"skill":`+entry(files)+hints+`}`)
		for _, uri := range []string{"skill://none/SKILL.md", "skill://pdf",
			"skill://pdf/references/FORMS.md"} {
			k.expectError("skills/get", `{"uri":"`+uri+`"}`, -32602, "There is no skill at")
		}
		k.expectError("skills/get", ``, -32602, "uri is required")
		k.expectError("skills/list", `{"cursor":"?"}`, -32602, "was not made by this server")

		k.want("resources/list", "", `{"resources":[
			{"uri":"skill://acme/sales/refunds/SKILL.md","name":"refunds","description":"Refund.",
			 "mimeType":"text/markdown"},
			{"uri":"skill://pdf/SKILL.md","name":"pdf","description":"Fill forms.",
			 "mimeType":"text/markdown"}]`+own+`}`)
		k.want("resources/read", `{"uri":"skill://pdf/references/FORMS.md"}`, `{"contents":[
			{"uri":"skill://pdf/references/FORMS.md","mimeType":"text/markdown","text":"forms"}]`+
			own+`}`)
		k.want("resources/read", `{"uri":"skill://pdf/references/logo.png"}`, `{"contents":[
			{"uri":"skill://pdf/references/logo.png","mimeType":"image/png","blob":"iVBORw=="}]`+
			own+`}`)
		missing := k.request("resources/read", `{"uri":"skill://pdf/none"}`)
		assert.Assert(t, strings.Contains(missing.raw, "Resource not found: skill://pdf/none"))

		k.want("resources/directory/read", `{"uri":"skill://pdf"}`, `{"resources":[
			{"uri":"skill://pdf/SKILL.md","name":"pdf","description":"Fill forms.",
			 "mimeType":"text/markdown","size":`+fmt.Sprint(len(files["pdf/SKILL.md"].Data))+`},
			{"uri":"skill://pdf/references","name":"references","mimeType":"inode/directory"}]}`)
		k.want("resources/directory/read", `{"uri":"skill://acme"}`, `{"resources":[
			{"uri":"skill://acme/sales","name":"sales","mimeType":"inode/directory"}]}`)
		for _, uri := range []string{"skill://pdf/", "skill://pdf/SKILL.md", "skill://none", "skill:/"} {
			k.expectError("resources/directory/read", `{"uri":"`+uri+`"}`, -32602,
				"There is no directory")
		}
	})
}

// Without skills the extension is not declared.
func TestNoSkills(t *testing.T) {
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, made(quiet), revision, `{}`)
		for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
			k.expectError(method, `{"uri":"x"}`, -32601, method)
		}
	})
}

// Valid skills are served even if others are invalid. AddSkills returns an error about the invalid
// ones.
func TestInvalidSkills(t *testing.T) {
	files := skillFiles()
	files["bad/SKILL.md"] = &fstest.MapFile{Data: []byte("# no front matter")}
	files["other/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: x\ndescription: y\n---\n")}
	s := made(quiet)
	err := s.AddSkills(files)
	assert.ErrorContains(t, err, "bad/SKILL.md:1:1: it has no front matter; start it with")
	assert.ErrorContains(t, err, `other/SKILL.md: the name "x" differs from the directory "other"`)
	err = s.AddSkills(skillFiles())
	assert.ErrorContains(t, err, "there is a skill skill://pdf/SKILL.md already; rename the directory")
	k := speak(t, s, newest, `{}`)
	k.request("skills/get", `{"uri":"skill://pdf/SKILL.md"}`).is(k,
		`{"skill":`+entry(files)+`,"ttlMs":0,"cacheScope":"private"}`)
	assert.ErrorContains(t, s.AddSkill(server.Skill{Skill: mcp.Skill{URI: "x"}}),
		`server: skill "x": the URI "x" is not that of a SKILL.md in a directory`)
	assert.Equal(t, s.Remove(mcp.KindSkill, "skill://pdf/SKILL.md", "x"), 1)
	k.expectError("skills/get", `{"uri":"skill://pdf/SKILL.md"}`, -32602, "There is no skill")
}

// Changes are announced: of the list, and of the files to which a client is subscribed.
func TestReloadSkills(t *testing.T) {
	in(t, []string{"2025-11-25"}, func(t *testing.T, revision string) {
		files := skillFiles()
		s := made(quiet, func(s *server.Server) { must(t, s.AddSkills(files)) })
		k := speak(t, s, revision, `{}`)
		k.want("resources/subscribe", `{"uri":"skill://pdf/references/FORMS.md"}`, `{}`)
		must(t, s.ReloadSkills())
		assert.Equal(t, len(k.notifications()), 0)

		files["pdf/references/FORMS.md"] = &fstest.MapFile{Data: []byte("new forms")}
		delete(files, "acme/sales/refunds/SKILL.md")
		must(t, s.ReloadSkills())
		var methods []string
		for range 2 {
			methods = append(methods, k.next().Method)
		}
		assert.Assert(t, strings.Contains(fmt.Sprint(methods), "notifications/resources/updated"))
		assert.Assert(t, strings.Contains(fmt.Sprint(methods), "notifications/resources/list_changed"))
		k.expectNothing()
		k.want("skills/list", "", `{"skills":[`+entry(files)+`],"ttlMs":0,"cacheScope":"private"}`)
		k.want("resources/list", "", `{"resources":[{"uri":"skill://pdf/SKILL.md","name":"pdf",
			"description":"Fill forms.","mimeType":"text/markdown"}]}`)

		files["pdf/SKILL.md"] = &fstest.MapFile{Data: []byte("half")}
		assert.ErrorContains(t, s.ReloadSkills(), "pdf/SKILL.md:1:1")
		for range 2 {
			k.next()
		}
		k.want("skills/list", "", `{"skills":[],"ttlMs":0,"cacheScope":"private"}`)
	})
}

// If a file has changed without ReloadSkills, the server reads the skill again instead of serving
// the file under the old digest. The client gets the file that the new entry describes.
func TestSkillFileThatChanged(t *testing.T) {
	files := skillFiles()
	var log bytes.Buffer
	o := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := made(o, func(s *server.Server) { must(t, s.AddSkills(files)) })
	k := speak(t, s, newest, `{}`)
	files["pdf/references/FORMS.md"] = &fstest.MapFile{Data: []byte("new forms")}
	m := k.request("resources/read", `{"uri":"skill://pdf/references/FORMS.md"}`)
	assert.Assert(t, strings.Contains(m.raw, `"text":"new forms"`), m.raw)
	k.want("skills/get", `{"uri":"skill://pdf/SKILL.md"}`,
		`{"skill":`+entry(files)+`,"ttlMs":0,"cacheScope":"private"}`)
	delete(files, "pdf/SKILL.md")
	k.expectError("resources/read", `{"uri":"skill://pdf/SKILL.md"}`, -32602, "Resource not found")
}

// A page of skills ends before it is too large for a message.
func TestPagesOfSkills(t *testing.T) {
	s := made(quiet)
	file := mcp.SkillResource{URI: "skill://x/" + strings.Repeat("y", 3000), Digest: digest("")}
	for i := range 40 {
		uri := fmt.Sprintf("skill://%02d/x/SKILL.md", i)
		entry := mcp.Skill{URI: uri, Frontmatter: json.RawMessage(`{"name":"x","description":"y"}`)}
		for j := range 30 {
			name := fmt.Sprintf("%s%d", file.URI, j)
			entry.Resources.Files = append(entry.Resources.Files, mcp.SkillResource{
				URI:    strings.Replace(name, "skill://x/", fmt.Sprintf("skill://%02d/x/", i), 1),
				Digest: file.Digest})
		}
		entry.Resources.Files = append(entry.Resources.Files, mcp.SkillResource{URI: uri,
			Digest: file.Digest})
		must(t, s.AddSkill(server.Skill{Skill: entry, Read: readNothing}))
	}
	k := speak(t, s, newest, `{}`)
	seen, params := 0, ""
	for pages := 1; ; pages++ {
		m := k.request("skills/list", params)
		assert.Assert(t, len(m.raw) < 2<<20)
		var result mcp.ListSkillsResult
		must(t, mcp.Unmarshal(m.Result, &result))
		seen += len(result.Skills)
		if result.NextCursor == "" {
			assert.Assert(t, pages > 3)
			break
		}
		params = `{"cursor":"` + result.NextCursor + `"}`
	}
	assert.Equal(t, seen, 40)
}

func readNothing(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return nil, server.ResourceNotFound(uri)
}

// The application serves the files and directories of a dynamic skill, and no others.
func TestDynamicSkill(t *testing.T) {
	o := quiet
	o.Visible = func(_ context.Context, kind mcp.Kind, key string) bool {
		return !strings.Contains(key, "hidden")
	}
	s := made(o)
	for _, name := range []string{"daily", "hidden"} {
		root := "skill://reports/" + name
		must(t, s.AddSkill(server.Skill{
			Skill: mcp.Skill{URI: root + "/SKILL.md", Resources: mcp.SkillResources{Dynamic: true},
				Frontmatter: json.RawMessage(`{"name":"` + name + `","description":"d"}`)},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: "now"}}}, nil
			},
			ReadDirectory: func(_ context.Context, uri string) ([]mcp.Resource, error) {
				if uri == root {
					return []mcp.Resource{{URI: uri + "/SKILL.md", Name: "SKILL.md"}}, nil
				}
				return nil, server.ResourceNotFound(uri)
			},
		}))
	}
	k := speak(t, s, newest, `{}`)
	k.want("skills/list", "", `{"skills":[{"uri":"skill://reports/daily/SKILL.md",
		"frontmatter":{"name":"daily","description":"d"},"resources":"dynamic"}],
		"ttlMs":0,"cacheScope":"private"}`)
	k.want("resources/read", `{"uri":"skill://reports/daily/a/b"}`, `{"contents":[
		{"uri":"skill://reports/daily/a/b","text":"now"}],"ttlMs":0,"cacheScope":"private"}`)
	k.expectError("resources/read", `{"uri":"skill://reports/daily/../x"}`, -32602, "not found")
	k.expectError("resources/read", `{"uri":"skill://reports/hidden/SKILL.md"}`, -32602, "not found")
	k.expectError("skills/get", `{"uri":"skill://reports/hidden/SKILL.md"}`, -32602, "no skill")
	k.expectError("resources/directory/read", `{"uri":"skill://reports/hidden"}`, -32602, "no directory")
	k.want("resources/directory/read", `{"uri":"skill://reports/daily"}`, `{"resources":[
		{"uri":"skill://reports/daily/SKILL.md","name":"SKILL.md"}]}`)
	k.expectError("resources/directory/read", `{"uri":"skill://reports/daily/x"}`, -32602, "not found")
	k.want("resources/directory/read", `{"uri":"skill://reports"}`, `{"resources":[
		{"uri":"skill://reports/daily","name":"daily","mimeType":"inode/directory"}]}`)
}
