package listed

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxOutputs     = 10_000   // tools whose outputSchema is stored
	maxOutputBytes = 16 << 20 // of all of them
)

var errUnstructured = errors.New("there is no structuredContent")

// Outputs stores the output schemas of the listed tools.
type Outputs struct {
	mu    sync.Mutex
	tools map[string]*Output // nil for a tool without a schema
	bytes int
}

// An Output is the outputSchema of one tool. It is compiled on first use.
type Output struct {
	text   []byte
	once   sync.Once
	schema *schema.Schema
	err    error // of compiling
	warned bool
}

// Learn stores the schemas of a page of tools.
func (o *Outputs) Learn(tools []*mcp.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tools == nil {
		o.tools = make(map[string]*Output)
	}
	for _, t := range tools {
		if len(t.Name) > maxName {
			continue
		}
		known, ok := o.tools[t.Name]
		if known != nil {
			if bytes.Equal(known.text, t.OutputSchema) {
				continue
			}
			o.bytes -= len(known.text)
		}
		switch {
		case len(t.OutputSchema) == 0 && (ok || len(o.tools) < maxOutputs):
			o.tools[t.Name] = nil
		case (ok || len(o.tools) < maxOutputs) && o.bytes+len(t.OutputSchema) <= maxOutputBytes:
			o.tools[t.Name] = &Output{text: bytes.Clone(t.OutputSchema)}
			o.bytes += len(t.OutputSchema)
		default:
			delete(o.tools, t.Name)
		}
	}
}

// Tool returns the schema of a tool, or nil; known reports whether the tool was listed.
func (o *Outputs) Tool(name string) (out *Output, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known = o.tools[name]
	return out, known
}

// FirstWarning reports whether it is called for the first time for a schema.
func (o *Outputs) FirstWarning(out *Output) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := !out.warned
	out.warned = true
	return first
}

// Check validates a result whose isError is not true. misfit says why it does not match, err why it
// cannot be checked.
func (out *Output) Check(result []byte) (misfit, err error) {
	out.once.Do(func() { out.schema, out.err = schema.Compile(out.text) })
	if out.err != nil {
		return nil, fmt.Errorf("it cannot be checked: %w", out.err)
	}
	content := jsonscan.Member(result, "structuredContent")
	if content == nil {
		return errUnstructured, nil
	}
	misfit = out.schema.ValidateScanned(content)
	if errors.Is(misfit, schema.ErrLimit) {
		return nil, fmt.Errorf("it cannot be checked: %w", misfit)
	}
	return misfit, nil
}
