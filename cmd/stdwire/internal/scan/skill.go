package scan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A File is a file of a skill, or a skill whose entry is not valid.
type File struct {
	URI     string
	Content []byte
	Problem string // a predicate such as "must not be used"; Content is nil then
}

// newFile returns a file as a definition whose texts are parts of the file: see maxText.
func (s *scannedServer) newFile(f File) *definition {
	d := &definition{server: s, kind: mcp.KindSkill, name: f.URI, arguments: map[string]bool{}}
	if f.Problem != "" {
		d.problem = f.Problem
		return d
	}
	if !utf8.Valid(f.Content) {
		return d // pictures and the like
	}
	line := 1
	for rest := string(f.Content); rest != ""; {
		part := rest
		if len(part) > maxText {
			part = part[:maxText]
			if end := strings.LastIndexByte(part, '\n'); end > 0 {
				part = part[:end+1]
			}
		}
		d.addText(text{where: fmt.Sprintf("line %d", line), s: part})
		line += strings.Count(part, "\n")
		rest = rest[len(part):]
	}
	return d
}

// inSkill restricts a check to skills, because a model follows their instructions with the tools of
// its host.
func inSkill(check func(*scanner, *definition, *text) (Finding, bool)) func(*scanner, *definition,
	*text) (Finding, bool) {
	return func(sc *scanner, d *definition, t *text) (Finding, bool) {
		if d.kind != mcp.KindSkill {
			return Finding{}, false
		}
		return check(sc, d, t)
	}
}
