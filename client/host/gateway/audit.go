package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An entry is a line of the audit log.
type entry struct {
	Time      string `json:"time"` // when it began
	Principal string `json:"principal,omitempty"`
	Server    string `json:"server"`
	Tool      string `json:"tool,omitempty"`
	URI       string `json:"uri,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	Resumed   bool   `json:"resumed,omitempty"`

	Arguments     []argument      `json:"arguments,omitempty"`
	LeftOut       int             `json:"arguments_left_out,omitempty"`
	ArgumentsSize int             `json:"arguments_size,omitempty"`
	HMAC          string          `json:"arguments_hmac,omitempty"`
	Values        json.RawMessage `json:"arguments_values,omitempty"`

	Milliseconds float64 `json:"duration_ms"`
	Outcome      string  `json:"outcome"`
	Code         int     `json:"code,omitempty"`
	By           string  `json:"refused_by,omitempty"`
	ResultSize   int     `json:"result_size,omitempty"`
}

// An argument is one without its value.
type argument struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"` // of the JSON text, in bytes
}

const (
	maxShown = 64  // arguments of a call that the log has
	maxNamed = 128 // bytes of their names
)

// The outcomes of calls, as the log has them.
const (
	outcomeOK        = "ok"
	outcomeToolError = "tool_error"     // the tool says that it failed
	outcomeAsked     = "input_required" // the client was asked something
	outcomeRefused   = "refused"        // by the gateway
	outcomeCancelled = "cancelled"
	outcomeError     = "error"
)

// record writes down what has become of a call.
func (t *trail) record(ctx context.Context, c *call, began time.Time, err error) {
	e := entry{
		Time: stamp(began), Principal: principal(ctx), Server: c.u.id, Resumed: c.resumed, ArgumentsSize: len(c.Arguments),
		Milliseconds: float64(time.Since(began).Microseconds()) / 1000, ResultSize: len(c.Result),
	}
	switch c.kind {
	case kindTool:
		e.Tool = c.u.name
	case kindPrompt:
		e.Prompt = c.u.name
	default:
		e.URI = c.u.name
	}
	if len(c.Arguments) > 0 {
		e.describe(c.Arguments, t.key)
		if t.values {
			e.Values = c.Arguments
		}
	}
	e.judge(ctx, c.Result, err)
	if line, err := mcp.Marshal(e); err == nil { // which it is, of strings, numbers and valid JSON
		t.add(append(line, '\n'))
	}
}

// describe notes what arguments look like.
func (e *entry) describe(arguments json.RawMessage, key []byte) {
	for token, value := range jsonscan.Members(arguments) {
		if len(e.Arguments) == maxShown {
			e.LeftOut++
			continue
		}
		name, _ := jsonscan.Text(token)
		if len(name) > maxNamed {
			name = name[:maxNamed] + "…"
		}
		e.Arguments = append(e.Arguments, argument{name, typeOf(value), len(value)})
	}
	if text, err := jsondiff.Canonical(arguments); err == nil { // else something is there twice, or nested too deep
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		e.HMAC = hex.EncodeToString(mac.Sum(nil))
	}
}

// judge notes what has become of the call.
func (e *entry) judge(ctx context.Context, result json.RawMessage, err error) {
	if err == nil {
		e.Outcome = outcomeOK
		if string(jsonscan.Member(result, "isError")) == "true" {
			e.Outcome = outcomeToolError
		}
		return
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		e.Outcome, e.By = outcomeRefused, r.by
		return
	}
	if ctx.Err() != nil {
		e.Outcome = outcomeCancelled
		return
	}
	if _, ok := errors.AsType[*question](err); ok {
		e.Outcome = outcomeAsked
		return
	}
	e.Outcome, e.Code = outcomeError, rpc.CodeInternalError
	if failure, ok := errors.AsType[*rpc.Error](err); ok {
		e.Code = failure.Code
	}
}

// typeOf is the type of a JSON value.
func typeOf(value []byte) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
