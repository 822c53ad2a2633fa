// Package skillindex finds the files and directories of skills, and reads those of file systems.
package skillindex

import (
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Index finds files and directories of skills. It does not change.
type Index struct {
	skills      map[string]*mcp.Skill
	files       map[string]string // skills by the URI of a file; of nested skills, the innermost
	dynamic     map[string]string // dynamic skills by the URI of their directory
	directories map[string]map[string]Entry
}

// An Entry is a file or directory in a directory.
type Entry struct {
	Skill      string // its URI
	Definition []byte // as a resource, in JSON
}

// New returns the index of these skills, by their URIs in this order.
func New(all []*mcp.Skill) *Index {
	x := &Index{map[string]*mcp.Skill{}, map[string]string{}, map[string]string{},
		map[string]map[string]Entry{}}
	for _, s := range all {
		x.skills[s.URI] = s
	}
	for _, s := range all {
		if s.Resources.Dynamic {
			root, _ := skill.Root(s.URI)
			x.dynamic[root] = s.URI
			x.addDirectories(s, s.URI)
			continue
		}
		for _, f := range s.Resources.Files {
			// a nested skill has a longer URI, and the file belongs to it
			if outer, ok := x.files[f.URI]; !ok || len(outer) < len(s.URI) {
				x.files[f.URI] = s.URI
			}
			x.addFile(s, f)
			x.addDirectories(s, f.URI)
		}
	}
	return x
}

// Skill returns the URI of the skill that lists a file, or "".
func (x *Index) Skill(file string) string { return x.files[file] }

// DynamicAbove returns the URI of the dynamic skill whose directory is, or contains, a URI; "" if
// there is none.
func (x *Index) DynamicAbove(uri string) string {
	for len(x.dynamic) > 0 && uri != "" {
		if s, ok := x.dynamic[uri]; ok {
			return s
		}
		uri = uri[:max(0, strings.LastIndexByte(uri, '/'))]
	}
	return ""
}

// Directory returns the files and directories in a directory by their URIs, nil if there is no such
// directory. The caller must not modify the map.
func (x *Index) Directory(uri string) map[string]Entry { return x.directories[uri] }

// addFile adds a file to its directory.
func (x *Index) addFile(s *mcp.Skill, f mcp.SkillResource) {
	r := Resource(f.URI)
	r.Size = &f.Size
	if strings.HasSuffix(f.URI, "/"+skill.FileName) {
		if own := x.skills[f.URI]; own != nil {
			r.Name, r.Description = skill.Name(f.URI), skill.Description(own)
		}
	}
	x.addEntry(s, r)
}

// Resource describes a file by its URI.
func Resource(uri string) mcp.Resource {
	return mcp.Resource{URI: uri, Name: baseName(uri), MIMEType: skill.MIMEType(uri)}
}

// baseName returns the last segment of a URI.
func baseName(uri string) string {
	segment := uri[strings.LastIndexByte(uri, '/')+1:]
	if name, err := url.PathUnescape(segment); err == nil {
		return name
	}
	return segment
}

// addDirectories adds the directories above a file, up to the authority.
func (x *Index) addDirectories(s *mcp.Skill, uri string) {
	for {
		uri = uri[:strings.LastIndexByte(uri, '/')]
		parent := uri[:strings.LastIndexByte(uri, '/')]
		if strings.HasSuffix(parent, "/") { // the end of "://"
			return
		}
		if _, ok := x.directories[parent][uri]; ok {
			return
		}
		x.addEntry(s, mcp.Resource{URI: uri, Name: baseName(uri), MIMEType: mcp.MIMEDirectory})
	}
}

func (x *Index) addEntry(s *mcp.Skill, r mcp.Resource) {
	parent := r.URI[:strings.LastIndexByte(r.URI, '/')]
	if x.directories[parent] == nil {
		x.directories[parent] = map[string]Entry{}
	}
	definition, err := mcp.Marshal(r)
	if err != nil { // cannot fail: the fields are text and a number
		panic("server: the resource cannot be encoded: " + err.Error())
	}
	x.directories[parent][r.URI] = Entry{s.URI, definition}
}
