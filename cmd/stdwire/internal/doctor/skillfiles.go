package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/internal/skill"
)

const (
	maxSkillFile  = 256 << 10 // bytes of a file that is read
	maxSkillFiles = 4 << 20   // bytes of all files of a server
)

// skillFiles reads and verifies the files of skills for a scan.
func skillFiles(ctx context.Context, c *client.Client,
	definitions []json.RawMessage) (files []scan.File) {
	seen := map[string]bool{} // a file of a nested skill is one of the outer skill, too
	left := int64(maxSkillFiles)
	for _, definition := range definitions {
		s, err := skill.Decode(definition)
		if err != nil {
			files = append(files, scan.File{URI: s.URI, Problem: "must not be used: " + err.Error()})
			continue
		}
		uris := map[string]int64{s.URI: 0}
		order := []string{s.URI}
		for _, f := range s.Resources.Files {
			if _, again := uris[f.URI]; !again {
				order = append(order, f.URI)
			}
			uris[f.URI] = f.Size
		}
		for _, uri := range order {
			size := uris[uri]
			switch {
			case seen[uri]:
				continue
			case size > maxSkillFile || size > left:
				files = append(files, scan.File{URI: uri,
					Problem: fmt.Sprintf("is not looked at: it has %d bytes", size)})
				continue
			}
			seen[uri] = true
			content, err := c.ReadSkillFile(ctx, s, uri)
			left -= int64(len(content))
			f := scan.File{URI: uri, Content: content}
			if err != nil {
				if e, ok := errors.AsType[*client.SkillError](err); ok {
					err = e.Err
				}
				f.Problem = "must not be used: " + err.Error()
			}
			if files = append(files, f); ctx.Err() != nil {
				return files
			}
		}
	}
	return files
}
