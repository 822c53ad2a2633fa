package client

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

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

// checkOutput validates the result of a tool as Options.Output says.
func (c *Client) checkOutput(tool string, result []byte) error {
	out, _ := c.outputSchemas.Tool(tool)
	if out == nil || string(jsonscan.Member(result, "isError")) == "true" {
		return nil
	}
	misfit, err := out.Check(result)
	if misfit != nil {
		err = &OutputError{bytes.Clone(result), misfit}
		if c.o.Output == OutputFail {
			return err
		}
	}
	if err != nil && c.outputSchemas.FirstWarning(out) {
		c.warn("a tool's result", slog.String("tool", printable.Line(tool)),
			slog.String("problem", printable.Line(err.Error())))
	}
	return nil
}

// learnOutput lists the tools if a tool, whose schema OutputFail needs, was not listed.
func (c *Client) learnOutput(ctx context.Context, tool string) error {
	if _, known := c.outputSchemas.Tool(tool); known {
		return nil
	}
	for _, err := range c.Integration().Pages(ctx, mcp.KindTool) {
		if err != nil {
			return err
		}
	}
	return nil
}
