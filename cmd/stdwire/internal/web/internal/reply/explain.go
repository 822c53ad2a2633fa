package reply

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An explanation says what an error code of JSON-RPC or MCP means, and what to do. facts returns
// members of the error's data as terms and texts; a text may be empty. It is nil if there are none.
type explanation struct {
	name, advice string
	facts        func(data map[string]json.RawMessage) [][2]string
}

// explanations has the error codes that the specifications define.
var explanations = map[int]explanation{
	rpc.CodeParseError: {"Parse error",
		"The receiver could not parse the message: check its bytes on the timeline.", nil},
	rpc.CodeInvalidRequest: {"Invalid Request",
		"The message is no JSON-RPC request, or not allowed now: check it on the timeline.", nil},
	rpc.CodeMethodNotFound: {"Method not found",
		"The server does not have the method: check the capabilities that it declares.", nil},
	rpc.CodeInvalidParams: {"Invalid params", "Compare the params with the definition that the " +
		"server lists now; it may have changed.", resource},
	rpc.CodeInternalError:    {"Internal error", "The server failed: read its log.", nil},
	mcp.CodeResourceNotFound: {"Resource not found", "List the resources again.", resource},
	mcp.CodeHeaderMismatch: {"Header mismatch", "An HTTP header is missing, malformed or differs " +
		"from the body. List the tools again if they send parameters as headers.", nil},
	mcp.CodeMissingRequiredClientCapability: {"Missing client capability", "The request needs a " +
		"capability that the client has not declared: check the extensions among the servers.",
		func(data map[string]json.RawMessage) [][2]string {
			return [][2]string{{"needed", capabilities(data["requiredCapabilities"])}}
		}},
	mcp.CodeUnsupportedProtocolVersion: {"Unsupported protocol version",
		"Client and server share no revision: choose another era with --era.",
		func(data map[string]json.RawMessage) [][2]string {
			return [][2]string{{"supported", list(data["supported"])},
				{"requested", text(data["requested"])}}
		}},
	mcp.CodeURLElicitationRequired: {"URL elicitation required",
		"If you trust the server, visit the page and repeat the call.",
		func(data map[string]json.RawMessage) [][2]string {
			var pages []struct{ URL json.RawMessage }
			_ = json.Unmarshal(data["elicitations"], &pages) // otherwise they have another form
			urls := make([]string, len(pages))
			for i, page := range pages {
				urls[i] = text(page.URL)
			}
			return [][2]string{{"pages", strings.Join(urls, ", ")}}
		}},
	lsp.CodeRequestCancelled: {"Request cancelled", "", nil}, // some servers of MCP send it, too
}

// ProblemIn returns the JSON-RPC error of a message, or nil if it has none.
func ProblemIn(message []byte) *Problem {
	var members, e map[string]json.RawMessage
	var code int
	if json.Unmarshal(message, &members) != nil || json.Unmarshal(members["error"], &e) != nil ||
		json.Unmarshal(e["code"], &code) != nil {
		return nil
	}
	p := &Problem{Message: text(e["message"]), RPC: &code, Data: e["data"]}
	p.explain(code)
	return p
}

// explain sets what the code of a JSON-RPC error says: a name, advice, and what is known of its
// data. Data of another form than the code requires have no facts.
func (p *Problem) explain(code int) {
	known, ok := explanations[code]
	switch {
	case ok:
	case code >= -32099 && code <= -32000:
		known = explanation{name: "Server error", advice: "The server defines the meaning of this " +
			"code: see its documentation."}
	default:
		known.name = "Error"
	}
	p.RPCName, p.Advice = known.name, known.advice
	var data map[string]json.RawMessage
	if known.facts == nil || json.Unmarshal(p.Data, &data) != nil {
		return
	}
	p.Facts = slices.DeleteFunc(known.facts(data), func(fact [2]string) bool { return fact[1] == "" })
}

func resource(data map[string]json.RawMessage) [][2]string {
	return [][2]string{{"resource", text(data["uri"])}}
}

// capabilities lists the names of capabilities, and of extensions and experiments those within.
func capabilities(value json.RawMessage) string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(value, &all) // otherwise they have another form
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		var within map[string]json.RawMessage
		if name != "extensions" && name != "experimental" ||
			json.Unmarshal(all[name], &within) != nil {
			continue
		}
		keys := slices.Sorted(maps.Keys(within))
		for j, key := range keys {
			keys[j] = name + " " + key
		}
		names[i] = strings.Join(keys, ", ")
	}
	return strings.Join(names, ", ")
}

// list joins the elements of an array.
func list(value json.RawMessage) string {
	var all []json.RawMessage
	_ = json.Unmarshal(value, &all) // a value of another form has no elements
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = text(one)
	}
	return strings.Join(texts, ", ")
}

// text returns a string as it is, and another value but null as JSON.
func text(value json.RawMessage) string {
	var s string
	if len(value) == 0 || json.Unmarshal(value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	_ = json.Compact(&b, value) // the value was decoded from JSON
	return b.String()
}
