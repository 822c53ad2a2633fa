// Package projection makes tools of operations: their names, definitions and, for a tool of several
// operations, which of them a call runs.
package projection

import (
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// ToolName returns an operation's name in MCP, where names have no hierarchy.
func ToolName(operation string) string { return strings.ReplaceAll(operation, ".", "_") }

// Definition returns the entry of an operation in tools/list.
func Definition(op *dispatch.Operation) []byte {
	return toolDefinition{ToolName(op.Name()), op.Spec().Title, op.Description(), op.Spec().Input,
		envelopeSchema(op.Spec().Output), annotationsOf(op)}.encode()
}

// A toolDefinition is an operation's entry in tools/list.
type toolDefinition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations annotations     `json:"annotations"`
}

// annotations are the hints that follow from an operation's kind.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func annotationsOf(op *dispatch.Operation) annotations {
	spec := op.Spec()
	readOnly := spec.Type == dispatch.Read || spec.Type == dispatch.Wait
	return annotations{readOnly, op.Destructive() || spec.Type == dispatch.Eval, spec.Idempotent ||
		readOnly, spec.OpenWorld}
}

func (d toolDefinition) encode() []byte {
	encoded, err := json.Marshal(d)
	if err != nil {
		// impossible: its schemas were compiled
		panic("server: the tool " + d.Name + " cannot be encoded: " + err.Error())
	}
	return encoded
}

// envelopeSchema returns the JSON Schema of an envelope whose data has the schema output. It moves
// definitions to the top level, because references point there.
func envelopeSchema(output json.RawMessage) json.RawMessage {
	data, definitions := []byte("{}"), []byte(nil)
	if len(output) > 0 && output[0] == '{' {
		data = []byte{'{'}
		for name, value := range jsonscan.Members(output) {
			if jsonscan.KeyIs(name, "$defs") {
				definitions = value
				continue
			}
			data = jsonscan.AppendMember(data, name, value)
		}
		data = append(append([]byte(`{"anyOf":[`), append(data, '}')...), `,{"type":"null"}]}`...)
	}
	schema := `{"type":"object","properties":{"success":{"type":"boolean"},"data":` +
		string(data) + `,"error":{"anyOf":[{"type":"object"},{"type":"null"}]}},"required":["success","data","error"]`
	if definitions != nil {
		schema += `,"$defs":` + string(definitions)
	}
	return json.RawMessage(schema + "}")
}
