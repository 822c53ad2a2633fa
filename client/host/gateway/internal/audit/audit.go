// Package audit writes a line for each call of a gateway.
package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An entry is a line of the audit log.
type entry struct {
	Time      string  `json:"time"` // start of the call
	Principal string  `json:"principal,omitempty"`
	Client    *Client `json:"client,omitempty"`
	Session   string  `json:"session,omitempty"`
	Server    string  `json:"server"`
	Tool      string  `json:"tool,omitempty"`
	URI       string  `json:"uri,omitempty"`
	Prompt    string  `json:"prompt,omitempty"`
	Public    string  `json:"offered_as,omitempty"`
	Resumed   bool    `json:"resumed,omitempty"`
	Cached    bool    `json:"cached,omitempty"`

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

// A Client is what a client says of its program.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// An argument describes an argument without its value.
type argument struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"` // of the JSON text, in bytes
}

const (
	maxAuditArguments = 64  // arguments per line
	maxAuditNameSize  = 128 // bytes of an argument's name
)

// The values of Outcome.Text.
const (
	OK        = "ok"
	ToolError = "tool_error"     // the result has isError
	Asked     = "input_required" // the client was asked a question
	Refused   = "refused"        // refused by the gateway
	Cancelled = "cancelled"
	Error     = "error"
)

// A Log is the audit log of a gateway.
type Log struct {
	*writer
	values bool   // lines have the values of arguments
	key    []byte // HMAC key of argument digests
}

// New returns a log that writes to the writer. With values, the lines have the arguments. key is
// that of their digests; nil: a random one. Call Close to end its goroutine.
func New(to io.Writer, values bool, key []byte, log *slog.Logger) *Log {
	if key == nil {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	return &Log{newWriter(to, log), values, key}
}

// A Call is a call that has ended.
type Call struct {
	Began     time.Time
	Principal string
	Client    Client
	Session   string // see server.Client
	Server    string
	Kind      mcp.Kind // of what is used
	Name      string   // the server's own, or a URI
	Public    string   // the offered name, if an override has changed the name
	Resumed   bool     // the request answers a question
	Cached    bool     // the result is that of an earlier call
	Arguments json.RawMessage
	Result    json.RawMessage // nil if there is none
	Outcome   Outcome
}

// An Outcome says how a call ended.
type Outcome struct {
	Text      string
	Code      int    // of an error
	RefusedBy string // what refused the call
}

// Record adds the line of a call. It does not block.
func (l *Log) Record(c *Call) {
	e := entry{
		Time: formatTime(c.Began), Principal: c.Principal, Session: c.Session,
		Server: c.Server, Public: c.Public,
		Resumed: c.Resumed, Cached: c.Cached, ArgumentsSize: len(c.Arguments),
		Milliseconds: float64(time.Since(c.Began).Microseconds()) / 1000,
		Outcome:      c.Outcome.Text, Code: c.Outcome.Code, By: c.Outcome.RefusedBy,
		ResultSize: len(c.Result),
	}
	if c.Client != (Client{}) {
		e.Client = &Client{printable.Line(c.Client.Name), printable.Line(c.Client.Version)}
	}
	switch c.Kind {
	case mcp.KindTool:
		e.Tool = c.Name
	case mcp.KindPrompt:
		e.Prompt = c.Name
	default:
		e.URI = c.Name
	}
	if len(c.Arguments) > 0 {
		e.setArguments(c.Arguments, l.key)
		if l.values {
			e.Values = c.Arguments
		}
	}
	if line, err := mcp.Marshal(e); err == nil { // always: strings, numbers and valid JSON
		l.add(append(line, '\n'))
	}
}

// setArguments sets the names, types, sizes and digest of the arguments.
func (e *entry) setArguments(arguments json.RawMessage, key []byte) {
	for token, value := range jsonscan.Members(arguments) {
		if len(e.Arguments) == maxAuditArguments {
			e.LeftOut++
			continue
		}
		name, _ := jsonscan.Text(token)
		if len(name) > maxAuditNameSize {
			name = name[:maxAuditNameSize] + "…"
		}
		e.Arguments = append(e.Arguments, argument{name, typeOf(value), len(value)})
	}
	// It fails for a duplicate member and for arguments that are nested too deep.
	if text, err := jsondiff.Canonical(arguments); err == nil {
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		e.HMAC = hex.EncodeToString(mac.Sum(nil))
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
