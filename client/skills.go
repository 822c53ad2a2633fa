package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A SkillError reports that a skill or one of its files must not be used. If a file differs from
// the skill's entry, it may have changed since: [Client.Skill] returns the current entry, which the
// user must approve again.
type SkillError struct {
	Server string // Options.Name
	Skill  string // the URI of the SKILL.md
	URI    string // of the file; "" for the entry
	Err    error
}

func (e *SkillError) Error() string {
	subject := "the skill " + printable.Line(e.Skill)
	if e.URI != "" {
		subject = fmt.Sprintf("the file %s of %s", printable.Line(e.URI), subject)
	}
	return fmt.Sprintf("server %q: %s must not be used: %v", e.Server, subject, e.Err)
}

func (e *SkillError) Unwrap() error { return e.Err }

// Skills yields the skills that the server lists (SEP-2640, "Listing Skills"), with the limits and
// errors of [Client.Tools], and [ErrUndeclared] if the server does not declare the extension.
// A server may have more: see [Client.Skill]. Entries that a host must not load are omitted and
// logged. No file is read.
//
// A server and a URI identify a skill: another server may have another skill with the same URI, and
// one server may have two skills with the same name.
func (c *Client) Skills(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Skill, error] {
	return func(yield func(*mcp.Skill, error) bool) {
		for definition, err := range itemsOf(ctx, c, mcp.KindSkill, opts,
			func(d *definitions) []json.RawMessage { return d.Skills }) {
			if err != nil {
				yield(nil, err)
				return
			}
			s, err := skill.Decode(definition)
			if err != nil {
				c.o.Logger.Warn("a skill is omitted", slog.String("server", c.o.Name),
					slog.Any("error", c.skillError(s, "", err)))
				continue
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Skill returns the entry of a skill by the URI of its SKILL.md, whether the server lists it or not
// (SEP-2640, "Getting a Skill"). It blocks as [Client.Call] does. The error is one of Call,
// [ErrUndeclared], or a [*SkillError] for an entry that a host must not load. For an unknown
// skill it is an [*rpc.Error] with [rpc.CodeInvalidParams].
func (c *Client) Skill(ctx context.Context, uri string, opts ...CallOption) (*mcp.Skill, error) {
	var definition json.RawMessage
	r := &call{method: mcp.MethodGetSkill, params: &mcp.ResourceParams{URI: uri},
		decode: func(result []byte) error {
			definition = append(json.RawMessage(nil), jsonscan.Member(result, "skill")...)
			if definition == nil {
				return errors.New("the result has no skill")
			}
			return nil
		}}
	if err := c.request(ctx, skillsCapability, r, opts); err != nil {
		return nil, err
	}
	s, err := skill.Decode(definition)
	if err == nil && s.URI != uri {
		err = fmt.Errorf("the server has sent the entry of another skill, %.200q", s.URI)
	}
	if err != nil {
		return nil, c.skillError(&mcp.Skill{URI: uri}, "", err)
	}
	return s, nil
}

// ReadSkillFile returns the content of a file of a skill. First it compares the size, the digest
// and, for a SKILL.md, the front matter with the skill's entry (SEP-2640, "Integrity and
// Verification"). s is an entry of [Client.Skills] or [Client.Skill] of this client; a host keeps
// it as long as the skill is in use. ReadSkillFile does not request a file that the entry does not
// list.
//
// It blocks as [Client.Call] does. The error is one of Call, [ErrUndeclared], or a
// [*SkillError] for content that must not be used. A match means that the server has described the
// content correctly, and not that the content can be trusted.
func (c *Client) ReadSkillFile(ctx context.Context, s *mcp.Skill, uri string,
	opts ...CallOption) ([]byte, error) {
	if err := skill.Check(s); err != nil {
		return nil, c.skillError(s, "", err)
	}
	if _, ok := skill.Listed(s, uri); !ok {
		return nil, c.skillError(s, uri, errors.New("the skill does not list it"))
	}
	result, err := c.ReadResource(ctx, uri, opts...)
	if err != nil {
		return nil, err
	}
	content, err := contentOf(result, uri)
	if err == nil {
		err = skill.Verify(s, uri, content)
	}
	if err != nil {
		// the entry may be old
		c.o.Cache.results.Drop(mcp.MethodReadResource, uri)
		c.o.Cache.results.Drop(mcp.MethodGetSkill, s.URI)
		c.o.Cache.results.Drop(mcp.MethodListSkills, "")
		return nil, c.skillError(s, uri, err)
	}
	return content, nil
}

// contentOf returns the content of a resource.
func contentOf(result *mcp.ReadResourceResult, uri string) ([]byte, error) {
	if len(result.Contents) != 1 || result.Contents[0].URI != uri {
		return nil, errors.New("the server has not sent the content of this file alone")
	}
	if blob := result.Contents[0].Blob; blob != nil {
		return blob, nil
	}
	return []byte(result.Contents[0].Text), nil
}

// ReadDirectory yields the direct children of a directory of a skill, or of another resource that
// is a directory (SEP-2640, "Reading Directories"), with the limits and errors of [Client.Tools],
// and [ErrUndeclared] if the server does not declare directoryRead. A file that a skill's
// entry does not list does not belong to the skill.
func (c *Client) ReadDirectory(ctx context.Context, uri string,
	opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return directory(ctx, c, uri, opts,
		func(r *mcp.ListResourcesResult) []*mcp.Resource { return r.Resources })
}

func (c *Client) skillError(s *mcp.Skill, uri string, err error) error {
	return &SkillError{Server: c.o.Name, Skill: s.URI, URI: uri, Err: err}
}
