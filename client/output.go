package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An OutputCheck says what happens to a structured result that does not match the tool's
// outputSchema (2026-07-28, Tools, "Output Schema").
type OutputCheck int

const (
	// OutputWarn logs a warning once per tool and returns the result. Tools that were not listed
	// are not checked.
	OutputWarn OutputCheck = iota
	// OutputFail fails the call with an [*OutputError]. If the tool was not listed, the tools are
	// listed first.
	OutputFail
	// OutputUnchecked skips the check.
	OutputUnchecked
)

// An OutputError says that the result of a tool does not match its outputSchema. The tool has run.
// It matches [rpc.ErrProtocol].
type OutputError struct {
	Result json.RawMessage // the complete result as the server wrote it
	Err    error           // a [*schema.Error], or that structuredContent is missing
}

func (e *OutputError) Error() string {
	return "its result does not fit its outputSchema: " + printable.Line(e.Err.Error())
}
func (e *OutputError) Unwrap() []error { return []error{e.Err, rpc.ErrProtocol} }

const (
	maxOutputs     = 10_000   // tools whose outputSchema is stored
	maxOutputBytes = 16 << 20 // of all of them
)

var errUnstructured = errors.New("there is no structuredContent")

// outputSchemas stores the output schemas of the listed tools.
type outputSchemas struct {
	mu    sync.Mutex
	tools map[string]*toolOutputSchema // nil for a tool without a schema
	bytes int
}

// A toolOutputSchema is the outputSchema of one tool. It is compiled on first use.
type toolOutputSchema struct {
	text   []byte
	once   sync.Once
	schema *schema.Schema
	err    error // of compiling
	warned bool
}

// learn stores the schemas of a page of tools.
func (o *outputSchemas) learn(tools []*mcp.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tools == nil {
		o.tools = make(map[string]*toolOutputSchema)
	}
	for _, t := range tools {
		if len(t.Name) > maxSupportName {
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
			o.tools[t.Name] = &toolOutputSchema{text: bytes.Clone(t.OutputSchema)}
			o.bytes += len(t.OutputSchema)
		default:
			delete(o.tools, t.Name)
		}
	}
}

// tool returns the schema of a tool, or nil; known reports whether the tool was listed.
func (o *outputSchemas) tool(name string) (out *toolOutputSchema, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known = o.tools[name]
	return out, known
}

// firstWarning reports whether it is called for the first time for a schema.
func (o *outputSchemas) firstWarning(out *toolOutputSchema) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := !out.warned
	out.warned = true
	return first
}

// check validates a result whose isError is not true.
func (out *toolOutputSchema) check(result []byte) error {
	out.once.Do(func() { out.schema, out.err = schema.Compile(out.text) })
	if out.err != nil {
		return fmt.Errorf("it cannot be checked: %w", out.err)
	}
	content := jsonscan.Member(result, "structuredContent")
	if content == nil {
		return &OutputError{bytes.Clone(result), errUnstructured}
	}
	err := out.schema.ValidateScanned(content)
	if errors.Is(err, schema.ErrLimit) {
		return fmt.Errorf("it cannot be checked: %w", err)
	}
	if err != nil {
		return &OutputError{bytes.Clone(result), err}
	}
	return nil
}

// checkOutput validates the result of a tool as Options.Output says.
func (c *Client) checkOutput(tool string, result []byte) error {
	out, _ := c.outputSchemas.tool(tool)
	if out == nil || string(jsonscan.Member(result, "isError")) == "true" {
		return nil
	}
	err := out.check(result)
	if _, misfit := err.(*OutputError); misfit && c.o.Output == OutputFail {
		return err
	}
	if err != nil && c.outputSchemas.firstWarning(out) {
		c.warn("a tool's result", slog.String("tool", printable.Line(tool)),
			slog.String("problem", printable.Line(err.Error())))
	}
	return nil
}

// learnOutput lists the tools if OutputFail needs the schema of a tool that was not listed.
func (c *Client) learnOutput(ctx context.Context, tool string) error {
	if _, known := c.outputSchemas.tool(tool); known || c.o.Output != OutputFail {
		return nil
	}
	for _, err := range c.Integration().Pages(ctx, mcp.KindTool) {
		if err != nil {
			return err
		}
	}
	return nil
}
