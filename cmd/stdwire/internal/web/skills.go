package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/skill"
)

// A skillEntry is the entry of a skill in a list, and its defects.
type skillEntry struct {
	Problem string      `json:"problem,omitempty"` // why a host must not load it
	Current string      `json:"current,omitempty"` // why its server does not return the same entry
	Dynamic bool        `json:"dynamic,omitempty"` // no file is listed
	Files   []skillFile `json:"files"`
}

// A skillFile is a file of a skill. Content that does not fit the entry is not sent to the page.
type skillFile struct {
	URI      string `json:"uri"`
	Path     string `json:"path,omitempty"` // in the skill
	Digest   string `json:"digest,omitempty"`
	Size     int64  `json:"size"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"` // in place of Text if it is not UTF-8
}

// checkSkill checks the entry of a skill, and compares it with the entry that skills/get returns.
func checkSkill(ctx context.Context, c *client.Client, definition json.RawMessage) (skillEntry,
	error) {
	entry := skillEntry{Files: []skillFile{}}
	s, err := skill.Decode(definition)
	if err != nil {
		entry.Problem = err.Error()
	}
	entry.Dynamic = s.Resources.Dynamic
	root, _ := skill.Root(s.URI)
	for _, f := range s.Resources.Files {
		entry.Files = append(entry.Files, skillFile{URI: f.URI,
			Path: strings.TrimPrefix(f.URI, root+"/"), Digest: f.Digest, Size: f.Size,
			MIMEType: skill.MIMEType(f.URI)})
	}
	if entry.Problem != "" {
		return entry, nil
	}
	current, err := c.Skill(ctx, s.URI, client.Fresh())
	if wrong, ok := errors.AsType[*client.SkillError](err); ok {
		entry.Current = wrong.Err.Error()
		return entry, nil
	}
	if err != nil {
		return entry, err
	}
	if !skill.Equal(s, current) {
		entry.Current = "skills/get returns another entry than skills/list"
	}
	return entry, nil
}

// readSkill reads a file of a skill and compares it with the entry.
func readSkill(ctx context.Context, c *client.Client, definition json.RawMessage,
	uri string) (*skillFile, error) {
	s, err := skill.Decode(definition)
	if err != nil {
		return nil, command.BadArgs("%v", err)
	}
	content, err := c.ReadSkillFile(ctx, s, uri, client.Fresh())
	if wrong, ok := errors.AsType[*client.SkillError](err); ok {
		return nil, &command.Failure{Code: "refused", What: uri, Why: wrong.Err.Error()}
	}
	if err != nil {
		return nil, err
	}
	file := &skillFile{URI: uri, Size: int64(len(content)), MIMEType: skill.MIMEType(uri)}
	if utf8.Valid(content) {
		file.Text = string(content)
	} else {
		file.Blob = content
	}
	return file, nil
}

// skillRoutes adds the routes of skills. The page sends the entry of the skill as the server has
// listed it, so that the files are compared with what the user sees.
func (s *servers) skillRoutes(mux *http.ServeMux) {
	post(mux, "/api/servers/{id}/skills/check", func(r *http.Request, in struct {
		Skill json.RawMessage
	}) (any, error) {
		return s.ask(r, func(ctx context.Context, c *client.Client) (any, error) {
			return checkSkill(ctx, c, in.Skill)
		})
	})
	post(mux, "/api/servers/{id}/skills/file", func(r *http.Request, in struct {
		Skill json.RawMessage
		URI   string
	}) (any, error) {
		return s.ask(r, func(ctx context.Context, c *client.Client) (any, error) {
			return readSkill(ctx, c, in.Skill, in.URI)
		})
	})
}
