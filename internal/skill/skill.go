// Package skill implements the rules of skills (SEP-2640 and the Agent Skills specification): it
// checks SKILL.md files, names and entries, and finds the skills of a file system.
package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/internal/yaml"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// FileName is the name of the file that makes a directory a skill.
const FileName = "SKILL.md"

// The limits that every host accepts (SEP-2640, "Limits").
const (
	MaxFiles = 512
	MaxBytes = 16 << 20 // bytes of all files of a skill together
)

// maxDescription is the maximum length of a description, in characters.
const maxDescription = 1024

var (
	name   = lazyregexp.New(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	digest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

// checkName returns an error unless s is a valid name of a skill.
func checkName(s string) error {
	if len(s) > 64 || !name().MatchString(s) {
		return fmt.Errorf("the name %.80q is not valid; use 1 to 64 of a-z and 0-9, with single "+
			"hyphens between them", s)
	}
	return nil
}

// Frontmatter returns the front matter of a SKILL.md as JSON, and the name in it. An error starts
// with the line and column.
func Frontmatter(file []byte) (frontmatter json.RawMessage, name string, err error) {
	if i := invalidUTF8(file); i >= 0 {
		return nil, "", fmt.Errorf("%d:1: this line is not UTF-8; save the file as UTF-8",
			1+bytes.Count(file[:i], []byte("\n")))
	}
	line, rest, _ := bytes.Cut(file, []byte("\n"))
	if !isDelimiter(line) {
		return nil, "", errors.New("1:1: it has no front matter; start it with a line ---, then " +
			"name: and description:, then a line ---")
	}
	text := rest
	for {
		line, after, more := bytes.Cut(rest, []byte("\n"))
		if isDelimiter(line) {
			text = text[:len(text)-len(rest)]
			break
		}
		if !more {
			return nil, "", errors.New("1:1: the front matter does not end; add a line --- after it")
		}
		rest = after
	}
	frontmatter, err = yaml.ToJSON(text)
	if e, ok := errors.AsType[*yaml.Error](err); ok {
		e.Line++ // the delimiter
	}
	if err == nil {
		if name, err = checkFrontmatter(frontmatter); err != nil {
			err = fmt.Errorf("2:1: %w", err)
		}
	}
	return frontmatter, name, err
}

func isDelimiter(line []byte) bool {
	return string(bytes.TrimRight(line, " \t\r")) == "---"
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// checkFrontmatter returns the name in front matter, or an error if the front matter is invalid.
func checkFrontmatter(frontmatter json.RawMessage) (string, error) {
	name, ok := jsonscan.Text(jsonscan.Member(frontmatter, "name"))
	if !ok {
		return "", errors.New("the front matter needs a name that is text; add name:")
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	description, ok := jsonscan.Text(jsonscan.Member(frontmatter, "description"))
	switch n := utf8.RuneCountInString(description); {
	case !ok || strings.TrimSpace(description) == "":
		return "", errors.New("the front matter needs a description that is text; add description:")
	case n > maxDescription:
		return "", fmt.Errorf("the description has %d characters, more than %d; shorten it", n,
			maxDescription)
	}
	return name, nil
}

// Root returns the URI of the directory of a skill. It returns false unless uri is that of a
// SKILL.md in a directory.
func Root(uri string) (string, bool) {
	root, ok := strings.CutSuffix(uri, "/"+FileName)
	scheme, path, absolute := strings.Cut(root, "://")
	return root, ok && absolute && scheme != "" && path != "" && !strings.HasSuffix(path, "/")
}

// Name returns the last segment of the URI of a skill's directory, which is the name of the skill.
func Name(uri string) string {
	root, _ := Root(uri)
	return root[strings.LastIndexByte(root, '/')+1:]
}

// Description returns the description of a skill.
func Description(s *mcp.Skill) string {
	text, _ := jsonscan.Text(jsonscan.Member(s.Frontmatter, "description"))
	return text
}

// Decode returns a skill from its definition in a list. It returns an error if a host must not
// load the skill; the skill is never nil, and has the URI if there is one.
func Decode(definition json.RawMessage) (*mcp.Skill, error) {
	s := new(mcp.Skill)
	err := mcp.Unmarshal(definition, s)
	if err == nil {
		return s, Check(s)
	}
	uri, _ := jsonscan.Text(jsonscan.Member(definition, "uri"))
	return &mcp.Skill{URI: uri}, err
}

// Check returns an error if a host must not load the skill with this entry (SEP-2640, "Skill
// Entries").
func Check(s *mcp.Skill) error {
	root, ok := Root(s.URI)
	if !ok {
		return fmt.Errorf("the URI %.200q is not that of a SKILL.md in a directory", s.URI)
	}
	name, err := checkFrontmatter(s.Frontmatter)
	if err != nil {
		return err
	}
	if name != Name(s.URI) {
		return fmt.Errorf("the name %q is not the last directory of its URI", name)
	}
	if s.Resources.Dynamic {
		return nil
	}
	if n := len(s.Resources.Files); n > MaxFiles {
		return tooManyFiles(n)
	}
	seen := make(map[string]bool, len(s.Resources.Files))
	total := int64(0)
	for _, f := range s.Resources.Files {
		switch {
		case !within(root, f.URI):
			return fmt.Errorf("the file %.200q is not in the directory of the skill", f.URI)
		case seen[f.URI]:
			return fmt.Errorf("the file %.200q is listed twice", f.URI)
		case !digest().MatchString(f.Digest):
			return fmt.Errorf("the digest %.80q of %.200q is not sha256: and 64 hexadecimal digits",
				f.Digest, f.URI)
		case f.Size < 0 || f.Size > MaxBytes:
			return fmt.Errorf("the size %d of %.200q is not between 0 and %d", f.Size, f.URI,
				MaxBytes)
		}
		seen[f.URI] = true
		total += f.Size
	}
	if !seen[s.URI] {
		return errors.New("its files do not include its SKILL.md")
	}
	if total > MaxBytes {
		return tooManyBytes(total)
	}
	return nil
}

// within reports whether uri is that of a file in the directory root. It refuses dot segments,
// which could lead out of the directory.
func within(root, uri string) bool {
	path, ok := strings.CutPrefix(uri, root+"/")
	if !ok || path == "" || strings.ContainsAny(path, `\?#`) {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		dots := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(segment)
		if dots == "" || dots == "." || dots == ".." || strings.Contains(strings.ToLower(segment), "%2f") {
			return false
		}
	}
	return true
}

func tooManyFiles(n int) error {
	return fmt.Errorf("the skill has %d files, and hosts accept %d; remove some, or split it", n,
		MaxFiles)
}

func tooManyBytes(n int64) error {
	return fmt.Errorf("the files of the skill have %d bytes, and hosts accept %d; remove some, or "+
		"split it", n, MaxBytes)
}
