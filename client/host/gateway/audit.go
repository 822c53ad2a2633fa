package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway/internal/auditwriter"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An auditEntry is a line of the audit log.
type auditEntry struct {
	Time      string `json:"time"` // start of the call
	Principal string `json:"principal,omitempty"`
	Server    string `json:"server"`
	Tool      string `json:"tool,omitempty"`
	URI       string `json:"uri,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	Resumed   bool   `json:"resumed,omitempty"`

	Arguments     []auditArgument `json:"arguments,omitempty"`
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

// An auditArgument describes an argument without its value.
type auditArgument struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"` // of the JSON text, in bytes
}

const (
	maxAuditArguments = 64  // arguments per line
	maxAuditNameSize  = 128 // bytes of an argument's name
)

// The values of auditEntry.Outcome.
const (
	outcomeOK        = "ok"
	outcomeToolError = "tool_error"     // the result has isError
	outcomeAsked     = "input_required" // the client was asked a question
	outcomeRefused   = "refused"        // refused by the gateway
	outcomeCancelled = "cancelled"
	outcomeError     = "error"
)

// An auditLog is the audit log of a gateway.
type auditLog struct {
	*auditwriter.Writer
	values bool   // lines have the values of arguments
	key    []byte // HMAC key of argument digests
}

func newAuditLog(to io.Writer, values bool, key []byte, log *slog.Logger) *auditLog {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	return &auditLog{auditwriter.New(to, log), values, key}
}

// record adds the line of a call that has ended.
func (l *auditLog) record(ctx context.Context, c *call, began time.Time, err error) {
	e := auditEntry{
		Time: auditwriter.FormatTime(began), Principal: principal(ctx), Server: c.target.id,
		Resumed:       c.resumed,
		ArgumentsSize: len(c.arguments),
		Milliseconds:  float64(time.Since(began).Microseconds()) / 1000, ResultSize: len(c.result),
	}
	switch c.kind {
	case mcp.KindTool:
		e.Tool = c.target.name
	case mcp.KindPrompt:
		e.Prompt = c.target.name
	default:
		e.URI = c.target.name
	}
	if len(c.arguments) > 0 {
		e.setArguments(c.arguments, l.key)
		if l.values {
			e.Values = c.arguments
		}
	}
	e.setOutcome(ctx, c.result, err)
	if line, err := mcp.Marshal(e); err == nil { // always: strings, numbers and valid JSON
		l.Add(append(line, '\n'))
	}
}

// setArguments sets the names, types, sizes and digest of the arguments.
func (e *auditEntry) setArguments(arguments json.RawMessage, key []byte) {
	for token, value := range jsonscan.Members(arguments) {
		if len(e.Arguments) == maxAuditArguments {
			e.LeftOut++
			continue
		}
		name, _ := jsonscan.Text(token)
		if len(name) > maxAuditNameSize {
			name = name[:maxAuditNameSize] + "…"
		}
		e.Arguments = append(e.Arguments, auditArgument{name, typeOf(value), len(value)})
	}
	// It fails for a duplicate member and for arguments that are nested too deep.
	if text, err := jsondiff.Canonical(arguments); err == nil {
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		e.HMAC = hex.EncodeToString(mac.Sum(nil))
	}
}

// setOutcome sets the outcome of the call.
func (e *auditEntry) setOutcome(ctx context.Context, result json.RawMessage, err error) {
	if err == nil {
		e.Outcome = outcomeOK
		if string(jsonscan.Member(result, "isError")) == "true" {
			e.Outcome = outcomeToolError
		}
		return
	}
	if r, ok := errors.AsType[*refusedError](err); ok {
		e.Outcome, e.By = outcomeRefused, r.by
		return
	}
	if ctx.Err() != nil {
		e.Outcome = outcomeCancelled
		return
	}
	if _, ok := errors.AsType[*inputRequired](err); ok {
		e.Outcome = outcomeAsked
		return
	}
	e.Outcome, e.Code = outcomeError, rpc.CodeInternalError
	if failure, ok := errors.AsType[*rpc.Error](err); ok {
		e.Code = failure.Code
	}
}

// typeOf returns the JSON type of a value.
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
