package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Verify returns an error unless content is that of the file of the skill with this URI (SEP-2640,
// "Verification on Read" and "Frontmatter Verification"). A dynamic skill lists no files, so only
// the front matter of its SKILL.md is compared.
func Verify(s *mcp.Skill, uri string, content []byte) error {
	if !s.Resources.Dynamic {
		f, ok := Listed(s, uri)
		switch got := digestOf(content); {
		case !ok:
			return errors.New("the skill does not list this file")
		case int64(len(content)) != f.Size:
			return fmt.Errorf("it has %d bytes; the entry declares %d", len(content), f.Size)
		case got != f.Digest:
			return fmt.Errorf("its digest is %s; the entry declares %s", got, f.Digest)
		}
	}
	if uri != s.URI {
		return nil
	}
	frontmatter, _, err := Frontmatter(content)
	if err != nil {
		return err
	}
	if field := difference(frontmatter, s.Frontmatter); field != "" {
		return fmt.Errorf("%q in its front matter differs from the skill's entry", field)
	}
	return nil
}

// Listed returns the file with a URI, and whether the skill lists it. All files in the directory
// of a dynamic skill count as listed.
func Listed(s *mcp.Skill, uri string) (mcp.SkillResource, bool) {
	for _, f := range s.Resources.Files {
		if f.URI == uri {
			return f, true
		}
	}
	root, _ := Root(s.URI)
	return mcp.SkillResource{URI: uri}, s.Resources.Dynamic && within(root, uri)
}

// difference returns a member in which two JSON objects differ, or "". Numbers are compared as
// IEEE 754 doubles, since not every server keeps how they are written.
func difference(a, b json.RawMessage) string {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "name"
	}
	for name, value := range x {
		if other, ok := y[name]; !ok || !reflect.DeepEqual(value, other) {
			return name
		}
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			return name
		}
	}
	return ""
}
