package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// remoteSchema finds schemas that refer to other documents. The content of such a document can
// change while the definition does not, and its host can observe who reads it.
func remoteSchema(_ *scanner, d *definition, t *text) (Finding, bool) {
	if t.member != "$ref" && t.member != "$dynamicRef" || t.key || strings.HasPrefix(t.s, "#") ||
		isExample(t.where) {
		return Finding{}, false
	}
	document, _, _ := strings.Cut(t.s, "#")
	for i := range d.texts {
		if id := &d.texts[i]; id.member == "$id" && (id.s == t.s || id.s == document) {
			// the schema itself
			return Finding{}, false
		}
	}
	switch {
	case strings.Contains(document, "://json-schema.org/"): // the dialects, which validators have
		return Finding{}, false
	case strings.Contains(document, ":") || strings.HasPrefix(document, "//"):
		return Finding{Severity: Medium,
			What:     "the schema refers to a URL: its content can change at any time, and its host sees who reads it",
			Evidence: t.s}, true
	}
	return Finding{Severity: Low, What: "the schema refers to something that it does not contain",
		Evidence: t.s}, true
}

// isExample reports whether the value at a path is an example, not a schema.
func isExample(where string) bool {
	for _, keyword := range []string{".default", ".const", ".enum[", ".example", "_meta"} {
		if strings.Contains(where, keyword) {
			return true
		}
	}
	return false
}

// contextNames are names of arguments that ask a model for its conversation or thoughts.
var contextNames = []struct {
	severity Severity
	names    []string
}{
	{Medium, []string{
		"conversation", "conversationhistory", "conversationlog", "fullconversation", "chathistory",
		"chatlog", "systemprompt", "systemmessage", "notestoself", "notetoself", "sidenote",
		"sidenotes", "usermessages", "previousmessages", "messagehistory", "chainofthought",
		"internalthoughts", "hiddencontext", "fullcontext", "conversationcontext", "chatcontext",
		"userprompt", "originalprompt",
	}},
	{Low, []string{"history", "context", "transcript", "scratchpad", "dialog", "dialogue"}},
}

// contextParameters finds arguments that ask for the conversation and have no description.
func contextParameters(_ *scanner, d *definition) (found []Finding) {
	if d.kind != mcp.KindTool {
		return nil
	}
	where := "inputSchema.properties"
	for token, schema := range jsonscan.Members(
		jsonscan.Member(jsonscan.Member(d.raw, "inputSchema"), "properties")) {
		name, _ := jsonscan.Text(token)
		if description, _ := jsonscan.Text(
			jsonscan.Member(schema, "description")); strings.TrimSpace(
			normalize(description)) != "" {
			continue // the rules for texts check the description
		}
		for _, a := range contextNames {
			if len(name) <= maxName && slices.Contains(a.names, strings.Join(nameWords(name), "")) {
				found = append(found, Finding{
					Severity: a.severity, Place: d.place(join(where, name)),
					What: fmt.Sprintf(
						"the argument %q asks by its name for what the model was told, and does not say what for",
						name),
				})
			}
		}
		if len(found) == maxPerRule {
			break
		}
	}
	return found
}
