package skill

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxEntries limits the number of files and directories in a file system with skills.
const maxEntries = 50_000

// ErrChanged is the error about a file that was changed after its size or digest was determined.
var ErrChanged = errors.New("the file changed while it was read; read it again")

// A Tree holds the skills of a file system. Each directory with a SKILL.md is a skill.
type Tree struct {
	Skills []*mcp.Skill
	Files  map[string]File // files of the skills, by URI
	// why invalid skills were left out
	Problems []error
}

// A File is a file of a skill.
type File struct {
	FS     fs.FS
	Path   string
	Digest string
	Size   int64
}

// Read returns the skills of a file system. It ignores names that start with a dot. A symbolic link
// to a regular file of fsys counts as that file. If a skill is invalid, Read leaves it out and adds
// an error to Problems. It fails if the file system cannot be read, or has more than 50,000 files
// and directories. Read opens only regular files of at most 16 MiB in the directories of skills.
func Read(fsys fs.FS) (*Tree, error) {
	w, err := walk(fsys)
	if err != nil {
		return nil, err
	}
	for name := range w.files {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	w.badNames = slices.Sorted(maps.Keys(w.bad))
	t := &Tree{Files: map[string]File{}}
	for _, name := range w.names {
		if path.Base(name) != FileName {
			continue
		}
		if err := w.add(t, path.Dir(name)); err != nil {
			t.Problems = append(t.Problems, err)
		}
	}
	for _, name := range w.badNames {
		if !w.inSkill(name) {
			t.Problems = append(t.Problems, fmt.Errorf("%s: %w", name, w.bad[name]))
		}
	}
	slices.SortFunc(t.Skills, func(a, b *mcp.Skill) int { return cmp.Compare(a.URI, b.URI) })
	return t, nil
}

// An Entry is a file in the directory of a skill.
type Entry struct {
	File             // its Digest is not set
	Info fs.FileInfo // of the regular file; nil with Err
	Err  error       // why the file cannot be served
}

// Entries returns the files on which the result of [Read] depends, by path: those below each
// directory with a SKILL.md. It opens none of them. The error is like that of Read.
func Entries(fsys fs.FS) (map[string]Entry, error) {
	w, err := walk(fsys)
	if err != nil {
		return nil, err
	}
	entries := map[string]Entry{}
	for name, f := range w.files {
		if w.inSkill(name) {
			entries[name] = Entry{File: File{FS: fsys, Path: f.path, Size: f.info.Size()},
				Info: f.info}
		}
	}
	for name, err := range w.bad {
		if w.inSkill(name) {
			entries[name] = Entry{Err: err}
		}
	}
	return entries, nil
}

// Open opens the file. The error matches [fs.ErrNotExist] or says what is there instead if it has
// been removed or replaced by another type of file.
func (f File) Open() (fs.File, error) {
	opened, _, err := userfile.OpenFS(f.FS, f.Path)
	return opened, err
}

type walker struct {
	fsys     fs.FS
	entries  int
	files    map[string]file // regular files, and links to them
	links    []string
	bad      map[string]error // why files cannot be served, by path
	badNames []string         // the paths of bad, sorted
	names    []string         // of files, sorted
	digests  map[string]string
}

type file struct {
	path string // of the regular file
	info fs.FileInfo
}

// walk finds the files of a file system.
func walk(fsys fs.FS) (*walker, error) {
	w := &walker{fsys: fsys, files: map[string]file{}, bad: map[string]error{},
		digests: map[string]string{}}
	if err := fs.WalkDir(fsys, ".", w.visit); err != nil {
		return nil, err
	}
	w.resolveLinks()
	return w, nil
}

func (w *walker) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil && name == ".":
		return err
	case name != "." && strings.HasPrefix(path.Base(name), "."):
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case err != nil:
		w.bad[name] = err
		return nil
	}
	if w.entries++; w.entries > maxEntries {
		return fmt.Errorf("there are more than %d files and directories; serve a directory with "+
			"skills only", maxEntries)
	}
	switch kind := d.Type(); {
	case d.IsDir():
	case kind&fs.ModeSymlink != 0:
		w.links = append(w.links, name)
	case !kind.IsRegular():
		w.bad[name] = errors.New("it is no regular file; remove it")
	default:
		info, err := d.Info()
		if err != nil {
			w.bad[name] = err
			return nil
		}
		w.files[name] = file{name, info}
	}
	return nil
}

// resolveLinks adds the links that lead to a regular file of the file system.
func (w *walker) resolveLinks() {
	found := map[string]file{}
	for _, link := range w.links {
		target, err := fs.ReadLink(w.fsys, link)
		to, ok := w.files[path.Join(path.Dir(link), target)]
		if err != nil || path.IsAbs(target) || !ok {
			w.bad[link] = errors.New("the link leads to no regular file of the served directory; " +
				"replace it by a copy, or serve what it leads to as well")
			continue
		}
		found[link] = to
	}
	maps.Copy(w.files, found)
}

// inSkill reports whether a path is in the directory of a skill. Then add reports its problem.
func (w *walker) inSkill(name string) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if _, ok := w.files[path.Join(dir, FileName)]; ok || dir == "." {
			return ok
		}
	}
}

// add adds the skill in a directory to a tree.
func (w *walker) add(t *Tree, dir string) error {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	skillFile := prefix + FileName
	i, _ := slices.BinarySearch(w.badNames, prefix)
	if i < len(w.badNames) && strings.HasPrefix(w.badNames[i], prefix) {
		return fmt.Errorf("%s: %w", w.badNames[i], w.bad[w.badNames[i]])
	}
	from, _ := slices.BinarySearch(w.names, prefix)
	names := w.names[from:]
	if prefix != "" {
		to, _ := slices.BinarySearch(w.names, dir+"0") // '0' follows '/'
		names = w.names[from:to]
	}
	if len(names) > MaxFiles {
		return fmt.Errorf("%s: %w", dir, tooManyFiles(len(names)))
	}
	total := int64(0)
	for _, name := range names {
		total += w.files[name].info.Size()
	}
	if total > MaxBytes {
		return fmt.Errorf("%s: %w", dir, tooManyBytes(total))
	}
	content, err := File{FS: w.fsys, Path: w.files[skillFile].path,
		Size: w.files[skillFile].info.Size()}.read()
	if err != nil {
		return fmt.Errorf("%s: %w", skillFile, err)
	}
	s := new(mcp.Skill)
	var name string
	if s.Frontmatter, name, err = Frontmatter(content); err != nil {
		return fmt.Errorf("%s:%w", skillFile, err)
	}
	root, err := rootURI(dir, name)
	if err != nil {
		return fmt.Errorf("%s: %w", skillFile, err)
	}
	s.URI = root + "/" + FileName
	files := map[string]File{}
	for _, name := range names {
		f := File{w.fsys, w.files[name].path, "", w.files[name].info.Size()}
		if name == skillFile { // its digest is that of the front matter that was read
			w.digests[f.Path] = digestOf(content)
		}
		if f.Digest, err = w.digest(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		uri := root + "/" + EscapePath(name[len(prefix):])
		s.Resources.Files = append(s.Resources.Files,
			mcp.SkillResource{URI: uri, Digest: f.Digest, Size: f.Size})
		files[uri] = f
	}
	maps.Copy(t.Files, files)
	t.Skills = append(t.Skills, s)
	return nil
}

// authority matches a first directory that can be the authority of a URI (RFC 3986, section 3.2.2,
// without percent-encoding).
var authority = lazyregexp.New(`^[A-Za-z0-9._~!$&'()*+,;=-]+$`)

// rootURI returns the URI of the directory of a skill. If the whole file system is one skill, the
// name of the skill stands for the directory.
func rootURI(dir, name string) (string, error) {
	if dir == "." {
		dir = name
	}
	if base := path.Base(dir); base != name {
		return "", fmt.Errorf("the name %q differs from the directory %q; rename one of them", name,
			base)
	}
	if first, _, _ := strings.Cut(dir, "/"); !authority().MatchString(first) {
		return "", fmt.Errorf("the directory %q cannot be the start of a URI; rename it to letters, "+
			"digits and hyphens", first)
	}
	return "skill://" + EscapePath(dir), nil
}

// EscapePath escapes each segment of a path for a URI. The slashes remain.
func EscapePath(name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digest returns the digest of a file. It computes the digest once, even if the file belongs to
// several skills.
func (w *walker) digest(f File) (string, error) {
	if d, ok := w.digests[f.Path]; ok {
		return d, nil
	}
	opened, err := f.Open()
	if err != nil {
		return "", err
	}
	defer opened.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(opened, f.Size+1))
	if err == nil && n != f.Size {
		err = ErrChanged
	}
	if err != nil {
		return "", err
	}
	d := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	w.digests[f.Path] = d
	return d, nil
}

// Read returns the content of a file. The error is [ErrChanged] if the content does not have the
// size and digest in f.
func (f File) Read() ([]byte, error) {
	content, err := f.read()
	if err == nil && digestOf(content) != f.Digest {
		err = ErrChanged
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

func (f File) read() ([]byte, error) {
	opened, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content := make([]byte, f.Size+1)
	n, err := io.ReadFull(opened, content)
	switch {
	case err == nil, err == io.EOF && f.Size > 0, err == io.ErrUnexpectedEOF && int64(n) != f.Size:
		return nil, ErrChanged
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, err
	}
	return content[:n:n], nil
}

// Skill returns the skill with a URI, or nil.
func (t *Tree) Skill(uri string) *mcp.Skill {
	i, found := slices.BinarySearchFunc(t.Skills, uri,
		func(s *mcp.Skill, uri string) int { return cmp.Compare(s.URI, uri) })
	if !found {
		return nil
	}
	return t.Skills[i]
}

// Equal reports whether two entries of a tree have the same URI, front matter and files.
func Equal(a, b *mcp.Skill) bool {
	return a.URI == b.URI && bytes.Equal(a.Frontmatter, b.Frontmatter) &&
		slices.EqualFunc(a.Resources.Files, b.Resources.Files, func(x, y mcp.SkillResource) bool {
			return x.URI == y.URI && x.Digest == y.Digest && x.Size == y.Size
		})
}
