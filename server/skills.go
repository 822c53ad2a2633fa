package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/skillindex"
)

// A Skill is a directory of files with instructions for a model (SEP-2640). Clients can read the
// files even if they are not added as resources. The server answers resources/directory/read from
// the URIs of the files.
type Skill struct {
	mcp.Skill

	// Read reads a file of the skill. It is like [Resource].Read.
	Read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)

	// ReadDirectory returns the direct children of a directory of a skill whose Resources are
	// Dynamic; nil: such a skill has no directories. The error follows the rules of
	// [Resource].Read.
	ReadDirectory func(ctx context.Context, uri string) ([]mcp.Resource, error)
}

// AddSkill adds a skill, or replaces the one with the same URI. It fails if Read is nil, if the
// entry breaks a rule of the specification, or if AddSkills has added the skill. A skill may have
// at most 512 files and 16 MiB. The server declares the extension to clients that connect after the
// first skill was added.
func (s *Server) AddSkill(skill Skill) error {
	i, err := newSkillItem(skill)
	if err == nil {
		err = s.addSkill(i)
	}
	return itemError(mcp.KindSkill, skill.URI, err)
}

func newSkillItem(s Skill) (*item, error) {
	err := skill.Check(&s.Skill)
	if err == nil && s.Read == nil {
		err = errNoRead
	}
	var definition []byte
	if err == nil {
		definition, err = mcp.Marshal(s.Skill)
	}
	if err != nil {
		return nil, err
	}
	i := newItem(mcp.KindSkill, s.URI, definition)
	i.skill = &skillEntry{Skill: s.Skill,
		read: func(uri string) useFunc { return reading(uri, s.Read) }}
	if s.ReadDirectory != nil {
		i.skill.directory = func(ctx context.Context, uri string) (json.RawMessage, error) {
			all, err := s.ReadDirectory(ctx, uri)
			if err != nil {
				return nil, err
			}
			return mcp.Marshal(all)
		}
	}
	return i, nil
}

// skillFiles is the provider of the files of skills, as resources: of those that skills list, or of
// those in the directories of dynamic skills.
type skillFiles struct {
	unlisted
	*skills
	dynamic bool
}

func (p skillFiles) Find(_ context.Context, _ mcp.Kind, key []byte) *item {
	if !p.EverUsed.Load() {
		return nil
	}
	uri, x := string(key), p.index()
	owner := x.Skill(uri)
	if p.dynamic {
		owner = x.DynamicAbove(uri)
	}
	i := x.of.ByKey[owner]
	if i == nil {
		return nil
	}
	if p.dynamic {
		if _, ok := skill.Listed(&i.skill.Skill, uri); !ok {
			return nil
		}
	}
	return unlistedResource(uri, i, i.skill.read(uri))
}

// listSkills answers skills/list. The specification describes only the modern era. The result has
// cache hints in both eras, like that of the official SDK for Go.
func listSkills(r *request) (*Result, error) {
	p, err := newPage(r, mcp.KindSkill, r.conn.server.skills.Listing())
	if err != nil {
		return nil, err
	}
	p.Hints = items.HintsAlways
	size := 0
	for n, i := range p.Items {
		if size += len(i.Definition); size > maxSkillPage && n > 0 {
			p.Items, p.More = p.Items[:n], true
			break
		}
	}
	return &p.Result, nil
}

// maxSkillPage is the size in bytes at which a page of skills ends, even if it has room for more
// items. A skill has up to 512 files, so a thousand skills would not fit in a message.
const maxSkillPage = 1 << 20

// getSkill answers skills/get.
func getSkill(r *request) (*Result, error) {
	s := r.conn.server
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	i, _ := r.lookUp(mcp.KindSkill, []byte(uri))
	if i == nil || i.SessionOnly && r.conn.isStateless() {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "There is no skill at %.200q", uri)
	}
	result := append([]byte(`{"skill":`), i.Definition...)
	result = s.results.AppendHints(result, s.o.PublicLists, false)
	return NewResult(s.results.AppendEnd(result, r.era.Modern)), nil
}

// readDirectory answers resources/directory/read.
func readDirectory(r *request) (*Result, error) {
	s := r.conn.server
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	x := s.skills.index()
	var children map[string]*item
	for key, entry := range x.Directory(uri) {
		if children == nil {
			children = map[string]*item{}
		}
		children[key] = newItem(mcp.KindResource, key, entry.Definition)
		children[key].SessionOnly = x.of.ByKey[entry.Skill].SessionOnly
	}
	if i := x.of.ByKey[x.DynamicAbove(uri)]; i != nil && i.skill.directory != nil &&
		s.visible(r, mcp.KindSkill, i.Key) {
		all, err := i.skill.directory(r, uri)
		if err == nil {
			all, err = jsonscan.AppendCompact(nil, all)
		}
		if err != nil {
			return r.handlerError(err)
		}
		children = map[string]*item{}
		for definition := range jsonscan.Elements(all) {
			key := mcp.KindResource.KeyOf(definition)
			children[key] = newItem(mcp.KindResource, key, definition)
		}
	}
	if children == nil || !s.visible(r, mcp.KindResource, uri) {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "There is no directory %.200q", uri)
	}
	p, err := newPage(r, mcp.KindResource, items.NewListing(children))
	if err != nil {
		return nil, err
	}
	p.Hints = items.HintsNever
	return &p.Result, nil
}

// AddSkills adds the skills of a file system, such as an [embed.FS] or that of an [os.Root]. Each
// directory with a SKILL.md is a skill. Its URI is skill:// followed by its path, and it has all
// files below the directory, except those whose names start with a dot. The SKILL.md files are also
// listed as resources. A symbolic link is served if it leads to a regular file of fsys. [os.DirFS]
// also follows a link that somebody has replaced meanwhile; [os.Root] does not lead out of its
// directory.
//
// AddSkills reads all files to compute their digests, and keeps fsys to serve them. fsys must be
// safe for concurrent use. If some skills are invalid, AddSkills serves the others and returns an
// error, made by [errors.Join], that names each problem.
func (s *Server) AddSkills(fsys fs.FS) error {
	s.skills.EverUsed.Store(true)
	s.skills.sources.mu.Lock()
	defer s.skills.sources.mu.Unlock()
	source := &skillindex.Source{FS: fsys}
	source.Tree.Store(&skill.Tree{})
	s.skills.sources.all = append(s.skills.sources.all, source)
	return s.readSkills(source)
}

// ReloadSkills reads all file systems of [Server.AddSkills] again and serves their current skills.
// It notifies clients of changes. Its error is like that of AddSkills. If a file changes without
// ReloadSkills, the server notices when a client reads it.
func (s *Server) ReloadSkills() error {
	s.skills.sources.mu.Lock()
	defer s.skills.sources.mu.Unlock()
	var all []error
	for _, source := range s.skills.sources.all {
		all = append(all, s.readSkills(source))
	}
	return errors.Join(all...)
}

// readSkills reads a file system and serves its skills. The caller holds sources.mu.
func (s *Server) readSkills(source *skillindex.Source) error {
	tree, err := skill.Read(source.FS)
	if err != nil {
		return fmt.Errorf("server: the skills cannot be read: %w", err)
	}
	before := source.Tree.Load()
	problems := tree.Problems
	var added []*item
	served := map[string]bool{}
	tree.Skills = slices.DeleteFunc(tree.Skills, func(entry *mcp.Skill) bool {
		i, err := newSkillItem(Skill{Skill: *entry, Read: s.skillReader(source)})
		err = itemError(mcp.KindSkill, entry.URI, err)
		if err == nil && s.skills.Has(entry.URI) && before.Skill(entry.URI) == nil {
			err = fmt.Errorf("server: there is a skill %s already; rename the directory", entry.URI)
		}
		if err != nil {
			problems = append(problems, err)
			return true
		}
		added, served[entry.URI] = append(added, i), true
		return false
	})
	defer s.Integration().DeferListChanged()()
	source.Tree.Store(tree)
	for _, old := range before.Skills {
		if !served[old.URI] {
			s.Remove(mcp.KindSkill, old.URI)
			s.Remove(mcp.KindResource, old.URI)
		}
	}
	for _, i := range added {
		if old := before.Skill(i.Key); old != nil && skill.Equal(old, &i.skill.Skill) {
			continue
		}
		s.skills.Add(i)
		r := skillindex.Resource(i.Key)
		r.Name, r.Description = skill.Name(i.Key), skill.Description(&i.skill.Skill)
		if err := s.AddResource(Resource{Resource: r, Read: s.skillReader(source)}); err != nil {
			problems = append(problems, err)
		}
	}
	for uri, f := range before.Files {
		if tree.Files[uri].Digest != f.Digest {
			s.ResourceUpdated(uri)
		}
	}
	return errors.Join(problems...)
}

// skillReader returns the function that reads the files of a file system.
func (s *Server) skillReader(source *skillindex.Source) readFunc {
	return func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		result, err := source.Read(ctx, uri, func(stale *skill.Tree) { s.reload(source, stale) })
		if result == nil && err == nil {
			err = ResourceNotFound(uri)
		}
		return result, err
	}
}

// reload reads a file system again, unless another call has done so since the tree stale was read.
func (s *Server) reload(source *skillindex.Source, stale *skill.Tree) {
	s.skills.sources.mu.Lock()
	defer s.skills.sources.mu.Unlock()
	if source.Tree.Load() != stale {
		return
	}
	if err := s.readSkills(source); err != nil {
		s.log.Warn("some skills are not served", "error", err)
	}
}
