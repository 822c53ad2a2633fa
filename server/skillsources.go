package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/skillindex"
)

// skillSources holds the file systems of AddSkills.
type skillSources struct {
	mu  sync.Mutex // serializes all changes
	all []*skillSource
}

// has reports whether a file system has a skill. The caller holds mu.
func (all *skillSources) has(uri string) bool {
	return slices.ContainsFunc(all.all, func(source *skillSource) bool {
		return source.tree.Load().Skill(uri) != nil
	})
}

// A skillSource is a file system with skills.
type skillSource struct {
	fsys fs.FS
	tree atomic.Pointer[skill.Tree] // the skills that are served
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
	source := &skillSource{fsys: fsys}
	source.tree.Store(&skill.Tree{})
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
func (s *Server) readSkills(source *skillSource) error {
	tree, err := skill.Read(source.fsys)
	if err != nil {
		return fmt.Errorf("server: the skills cannot be read: %w", err)
	}
	before := source.tree.Load()
	problems := tree.Problems
	var added []*item
	served := map[string]bool{}
	tree.Skills = slices.DeleteFunc(tree.Skills, func(entry *mcp.Skill) bool {
		i, err := newSkillItem(Skill{Skill: *entry, Read: source.reader(s)})
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
	defer s.deferListChanged()()
	source.tree.Store(tree)
	for _, old := range before.Skills {
		if !served[old.URI] {
			s.RemoveSkills(old.URI)
			s.RemoveResources(old.URI)
		}
	}
	for _, i := range added {
		if old := before.Skill(i.Key); old != nil && skill.Equal(old, &i.skill.Skill) {
			continue
		}
		s.skills.Add(i)
		r := skillindex.Resource(i.Key)
		r.Name, r.Description = skill.Name(i.Key), skill.Description(&i.skill.Skill)
		if err := s.AddResource(Resource{Resource: r, Read: source.reader(s)}); err != nil {
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

// reader returns the function that reads the files of the file system.
func (source *skillSource) reader(
	s *Server) func(context.Context, string) (*mcp.ReadResourceResult, error) {
	return func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		tree := source.tree.Load()
		content, err := readSkillFile(ctx, tree, uri)
		if errors.Is(err, skill.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
			source.reload(s, tree)
			content, err = readSkillFile(ctx, source.tree.Load(), uri)
		}
		switch {
		case errors.Is(err, skill.ErrChanged):
			return nil, rpc.Errorf(rpc.CodeInternalError, "%.200q: %v", uri, err)
		case err != nil:
			return nil, err
		}
		return &mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{contentsOf(uri, content)}}, nil
	}
}

// reload reads the file system again, unless another call has done so since tree was read.
func (source *skillSource) reload(s *Server, tree *skill.Tree) {
	s.skills.sources.mu.Lock()
	defer s.skills.sources.mu.Unlock()
	if source.tree.Load() != tree {
		return
	}
	if err := s.readSkills(source); err != nil {
		s.log.Warn("some skills are not served", "error", err)
	}
}

func readSkillFile(ctx context.Context, tree *skill.Tree, uri string) ([]byte, error) {
	f, ok := tree.Files[uri]
	if !ok {
		return nil, ResourceNotFound(uri)
	}
	if err := dispatch.Reserve(ctx, 2*f.Size); err != nil {
		return nil, err
	}
	return f.Read()
}
