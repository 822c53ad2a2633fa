// Package discovery has the tools by which a model finds and calls tools that are not listed.
package discovery

import (
	"encoding/json"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Find is the name of the tool that searches.
const Find = "find_tool"

// FindSchema is the schema of the arguments of [Find].
const FindSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"What the tool does, or its name"},` +
	`"server":{"type":"string","description":"Only tools of this server"},` +
	`"readOnly":{"type":"boolean","description":"Only tools that change nothing"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":50,"default":5},` +
	`"detail":{"enum":["compact","full"],"default":"compact","description":` +
	`"full returns the inputSchema of every tool, and not only of the first"}},` +
	`"required":["query"],"additionalProperties":false}`

const findDefinition = `{"name":"` + Find + `","title":"Find a tool","description":` +
	`"Finds tools by what they do. Most tools are not listed: search before you say that ` +
	`something cannot be done. Describe one step in a few words, such as \"create an issue\" or ` +
	`\"list files\", and search again for the next step. The answer has the name and the ` +
	`arguments of each tool, and says which of call_tool_read, call_tool_write and ` +
	`call_tool_destructive calls it. If nothing matches, no tool does it.","inputSchema":` +
	FindSchema + `,"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

// Definitions returns the definitions of the tools of this package, by name. They do not depend on
// anything, so that a model's cache of its prompt stays valid.
func Definitions() map[string]json.RawMessage {
	all := map[string]json.RawMessage{Find: json.RawMessage(findDefinition)}
	for risk := Read; risk <= Destructive; risk++ {
		r := risks[risk]
		all[r.caller] = json.RawMessage(`{"name":"` + r.caller + `","title":"` + r.title +
			`","description":"Calls one of the ` + r.permits + ` that ` + Find +
			` has found, and returns its result.","inputSchema":` + callSchema +
			`,"annotations":` + r.annotations + `}`)
	}
	return all
}

// IsMeta reports whether a name is that of a tool of this package.
func IsMeta(name []byte) bool { return string(name) == Find || CallerRisk(name) != Unknown }

// A Query has the arguments of a call of [Find].
type Query struct {
	Query    string `json:"query"`
	Server   string `json:"server"`
	ReadOnly bool   `json:"readOnly"`
	Limit    int    `json:"limit"`
	Detail   string `json:"detail"`
}

// ParseQuery reads arguments that fit [FindSchema], with its defaults.
func ParseQuery(arguments []byte) (q Query, err error) {
	err = mcp.Unmarshal(arguments, &q)
	return q, err
}
