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

// An OutputCheck is what becomes of a tool's structured result that does not fit its outputSchema (2026-07-28, Tools, "Output Schema").
type OutputCheck int

const (
	// OutputWarn tells the log, once for each tool, and returns the result. Tools that were on no list are not checked.
	OutputWarn OutputCheck = iota
	// OutputFail fails the call with an [*OutputError]. A tool that was on no list leads to a look at the list before it is called.
	OutputFail
	// OutputUnchecked does not look.
	OutputUnchecked
)

// An OutputError says that the result of a tool does not fit the schema that the tool declares. The tool has done what it does. It matches [rpc.ErrProtocol].
type OutputError struct {
	Result json.RawMessage // all of it, as the server wrote it
	Err    error           // what does not fit, a [*schema.Error]; or that there is no structured content
}

func (e *OutputError) Error() string {
	return "its result does not fit its outputSchema: " + printable.Line(e.Err.Error())
}
func (e *OutputError) Unwrap() []error { return []error{e.Err, rpc.ErrProtocol} }

const (
	maxOutputs     = 10_000   // tools of which the outputSchema is kept
	maxOutputBytes = 16 << 20 // of all of them
)

var errUnstructured = errors.New("there is no structuredContent")

// outputs are the schemas of what tools return, as far as they were on a list.
type outputSchemas struct {
	mu    sync.Mutex
	tools map[string]*toolOutputSchema // nil for one that declares none
	bytes int
}

// An output is the schema of what one tool returns, compiled when it is first wanted.
type toolOutputSchema struct {
	text   []byte
	once   sync.Once
	schema *schema.Schema
	err    error // why there is none
	warned bool
}

// learn takes a page of the list of tools.
func (o *outputSchemas) learn(tools []*mcp.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tools == nil {
		o.tools = make(map[string]*toolOutputSchema)
	}
	for _, t := range tools {
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

// tool returns the schema of what a tool returns, nil if there is none; known is whether the tool was on a list.
func (o *outputSchemas) tool(name string) (out *toolOutputSchema, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known = o.tools[name]
	return out, known
}

// firstWarning reports whether nothing was said yet about the outputs of a tool.
func (o *outputSchemas) firstWarning(out *toolOutputSchema) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := !out.warned
	out.warned = true
	return first
}

// check looks whether a result, of a tool that has not failed, fits.
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

// checkOutput looks at the result of a tool. Its error is one of the call.
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
		c.warn("a tool's result", slog.String("tool", printable.Line(tool)), slog.String("problem", printable.Line(err.Error())))
	}
	return nil
}

// learnOutput looks at the list of tools, if a tool is on none so far whose result is to be checked.
func (c *Client) learnOutput(ctx context.Context, tool string) error {
	if _, known := c.outputSchemas.tool(tool); known || c.o.Output != OutputFail {
		return nil
	}
	for _, err := range c.ToolPages(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}
