package dispatch

import (
	"encoding/json"
	"slices"
)

type manifest struct {
	Operations []manifestOperation `json:"operations"`
	Codes      []CodeInfo          `json:"codes"`
}

type manifestOperation struct {
	Name        string            `json:"name"`
	Title       string            `json:"title,omitempty"`
	Summary     string            `json:"summary"`
	Description string            `json:"description"`
	Type        Type              `json:"kind"`
	Destructive bool              `json:"destructive"`
	Idempotent  bool              `json:"idempotent"`
	OpenWorld   bool              `json:"open_world"`
	Gate        Gate              `json:"gate,omitempty"`
	TimeoutMS   int64             `json:"timeout_ms,omitempty"`
	Errors      []Code            `json:"errors"`
	Input       json.RawMessage   `json:"input"`
	Output      json.RawMessage   `json:"output,omitempty"`
	Examples    []manifestExample `json:"examples,omitempty"`
}

type manifestExample struct {
	Summary string          `json:"summary"`
	Input   json.RawMessage `json:"input"`
}

// Manifest returns the operations and codes of the catalog as one JSON object, for documentation
// and to compare two builds:
//
//	{"operations":[{"name","title","summary","description","kind","destructive","idempotent",
//	  "open_world","gate","timeout_ms","errors","input","output",
//	  "examples":[{"summary","input"}]}],
//	 "codes":[{"code","recoverable","http_status","exit_code","summary","universal"}]}
//
// Operations are sorted by name and codes by code. The members title, gate, timeout_ms, output and
// examples are omitted if they are empty. The same operations and codes give the same bytes. The
// caller owns the slice.
func (c *Catalog) Manifest() json.RawMessage {
	m := manifest{Operations: []manifestOperation{}, Codes: c.Codes()}
	for _, op := range c.Operations() {
		spec := op.spec
		entry := manifestOperation{
			Name: spec.Name, Title: spec.Title, Summary: spec.Summary,
			Description: op.Description(),
			Type:        spec.Type, Destructive: op.Destructive(), Idempotent: spec.Idempotent,
			OpenWorld: spec.OpenWorld, Gate: spec.Gate,
			TimeoutMS: spec.Timeout.Milliseconds(),
			Errors:    append([]Code{}, slices.Sorted(slices.Values(spec.Errors))...),
			Input:     spec.Input, Output: spec.Output,
		}
		for _, example := range spec.Examples {
			entry.Examples = append(entry.Examples, manifestExample(example))
		}
		m.Operations = append(m.Operations, entry)
	}
	text, err := encode(m)
	if err != nil {
		panic(err) // schemas and examples were checked when the operations were made
	}
	return text
}
