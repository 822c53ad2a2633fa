package discovery

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Found is what a search has found.
type Found struct {
	Definitions []json.RawMessage // of the tools to show, the best first
	Matched     int               // tools that match, those that are not shown included
	Writing     int               // of the tools that match, those that Query.ReadOnly leaves out
	Unknown     []string          // words that occur nowhere, if nothing is found for that reason
	Servers     []string          // of the tools, if the Query's server is none of them
	Missing     []string          // servers whose tools are not known
	Withheld    []Withheld        // tools that match and are not offered, the best first
}

// A Withheld is a tool that is not offered.
type Withheld struct{ Name, Why string }

const (
	maxSummary     = 300      // characters of a description in a compact answer
	maxTitle       = 100      // characters
	maxAnnotations = 1 << 10  // bytes; larger ones are left out
	maxSchema      = 32 << 10 // bytes; a larger one is left out
	maxFull        = 4096     // characters of a description in a full answer
)

// A shownTool is a tool in an answer.
type shownTool struct {
	Name        string          `json:"name"`
	Call        string          `json:"call"`
	Parameters  string          `json:"parameters"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// Answer returns the result of a call of [Find]. Its text and its structured content say the same.
// What the tools' servers have written is in the text as JSON, a line for each tool, so that a
// description cannot look like another tool or like this server's own words. Characters that are
// invisible, or that change the order of others, are escaped there.
func (q Query) Answer(f *Found) (*mcp.CallToolResult, error) {
	answer := struct {
		Tools []shownTool `json:"tools"`
		Notes []string    `json:"notes"`
	}{[]shownTool{}, f.notes(&q)}
	text := new(strings.Builder)
	for i, definition := range f.Definitions {
		tool := shown(definition, i == 0 || q.Detail == "full", q.Detail == "full")
		answer.Tools = append(answer.Tools, tool)
		line, err := mcp.Marshal(tool)
		if err != nil {
			return nil, err
		}
		text.WriteString(printable.JSON(string(line)) + "\n")
	}
	structured, err := mcp.Marshal(answer)
	if err != nil {
		return nil, err
	}
	text.WriteString(strings.Join(answer.Notes, "\n"))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}},
		StructuredContent: structured}, nil
}

func shown(definition []byte, schema, description bool) shownTool {
	name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
	tool := shownTool{Name: name, Call: RiskOf(definition).Caller(),
		Parameters: Signature(definition), Annotations: jsonscan.Member(definition, "annotations")}
	tool.Title, _ = jsonscan.Text(jsonscan.Member(definition, "title"))
	tool.Description, _ = jsonscan.Text(jsonscan.Member(definition, "description"))
	tool.Title = printable.CutWords(tool.Title, maxTitle)
	if len(tool.Annotations) > maxAnnotations {
		tool.Annotations = nil
	}
	limit := maxSummary
	if description {
		limit = maxFull
	}
	tool.Description = printable.CutWords(tool.Description, limit)
	if of := jsonscan.Member(definition, "inputSchema"); schema && len(of) <= maxSchema {
		tool.InputSchema = of
	}
	return tool
}

// notes returns what the model should know about the answer.
func (f *Found) notes(q *Query) (notes []string) {
	readOnly, ofServer, advice := "", "", "Search for one step at a time, in other words once; then assume that no tool does it."
	if q.ReadOnly {
		readOnly, advice = "read-only ", "Search without readOnly."
	}
	if q.Server != "" {
		ofServer, advice = " of this server", "Search without server."
	}
	say := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	switch {
	case f.Servers != nil:
		say("There is no server %.100q. The servers are: %s.", q.Server,
			strings.Join(f.Servers, ", "))
	case f.Unknown != nil:
		say("No %stool%s mentions %s, so nothing is shown. %s", readOnly, ofServer,
			strings.Join(f.Unknown, ", "), advice)
	case len(f.Definitions) == 0:
		say("No %stool%s matches. %s", readOnly, ofServer, advice)
	default:
		say("Call a tool by the tool that its member call names, with its name and arguments. parameters is a summary of the inputSchema, in which ? marks what may be left out; detail full returns the schema.")
	}
	if more := f.Matched - len(f.Definitions); more > 0 {
		say("%d more match less well: raise limit, or say more precisely what the tool does.", more)
	}
	if f.Writing > 0 {
		say("%d that match are left out, because they are not marked as read-only.", f.Writing)
	}
	if f.Withheld != nil {
		var named []string
		for _, w := range f.Withheld {
			named = append(named, shownName(w.Name)+" ("+w.Why+")")
		}
		say("Withheld until whoever runs this gateway has reviewed them: %s.",
			strings.Join(named, ", "))
	}
	if f.Missing != nil {
		say("The tools of these servers are not known at the moment: %s.",
			strings.Join(f.Missing, ", "))
	}
	return notes
}
