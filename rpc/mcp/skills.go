package mcp

import (
	"encoding/json"
	"errors"
)

// ExtensionSkills is the id of the skills extension in the extensions capability (SEP-2640).
const ExtensionSkills = "io.modelcontextprotocol/skills"

// SkillsSettings are the settings with which a server declares the skills extension.
type SkillsSettings struct {
	DirectoryRead bool  `json:"directoryRead,omitempty"` // it has resources/directory/read
	Extra         Extra `json:"-" unknown:"keep"`
}

// A Skill describes a directory of files with instructions for a model (SEP-2640, "Skill Entries").
type Skill struct {
	URI string `json:"uri"` // of its SKILL.md
	// the front matter of its SKILL.md, as a JSON object
	Frontmatter json.RawMessage `json:"frontmatter,omitzero"`
	Resources   SkillResources  `json:"resources"`
	Extra       Extra           `json:"-" unknown:"keep"`
}

// SkillResources are all files of a skill. In JSON, Dynamic is the string "dynamic": the content is
// generated, and no file is listed.
type SkillResources struct {
	Files   []SkillResource
	Dynamic bool
}

// A SkillResource is a file of a skill.
type SkillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and 64 lowercase hexadecimal digits
	Size   int64  `json:"size"`   // in bytes
	Extra  Extra  `json:"-" unknown:"keep"`
}

// MarshalJSON implements [json.Marshaler].
func (r SkillResources) MarshalJSON() ([]byte, error) {
	if r.Dynamic {
		return []byte(`"dynamic"`), nil
	}
	return Marshal(r.Files)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *SkillResources) UnmarshalJSON(data []byte) error {
	*r = SkillResources{}
	switch {
	case string(data) == `"dynamic"`:
		r.Dynamic = true
		return nil
	case len(data) == 0 || data[0] != '[':
		return errors.New(`resources is neither an array nor "dynamic"`)
	}
	return Unmarshal(data, &r.Files)
}

// ListSkillsResult is the result of skills/list; the params are [ListParams].
type ListSkillsResult struct {
	Result
	Skills     []*Skill `json:"skills"`
	NextCursor string   `json:"nextCursor,omitempty"`
	CacheHints
}

// MIMEDirectory is the MIME type of a resource that is a directory.
const MIMEDirectory = "inode/directory"
