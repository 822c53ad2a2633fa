// Package override changes the definition of an item as a configuration says, and converts the
// arguments of calls, and what a server says about them, between the two forms.
package override

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolhint"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// metaMaxResult is the key of _meta for [host.Override].MaxResultSizeChars.
const metaMaxResult = "anthropic/maxResultSizeChars"

// Apply returns the definition of an item as o has it, and how arguments are converted, nil if they
// stay. The name of a tool or prompt stays, because it depends on those of other items. An error
// says why the definition cannot be changed so.
func Apply(kind mcp.Kind, definition json.RawMessage, o *host.Override) (json.RawMessage,
	*Arguments, error) {
	text := func(name, value string) {
		if value != "" {
			definition = jsonscan.SetMember(definition, name, jsonscan.AppendString(nil, value))
		}
	}
	if kind == mcp.KindResource || kind == mcp.KindResourceTemplate {
		text("name", o.Name)
	}
	text("title", o.Title)
	text("description", o.Description)
	meta := func(key string, value []byte) {
		definition = jsonscan.SetMember(definition, "_meta",
			jsonscan.SetMember(objectOr(jsonscan.Member(definition, "_meta")), key, value))
	}
	if len(o.Tags) > 0 {
		tags, err := mcp.Marshal(o.Tags)
		if err != nil {
			return nil, nil, err
		}
		meta(mcp.MetaTags, tags)
	}
	if kind != mcp.KindTool {
		return definition, nil, nil
	}
	if o.MaxResultSizeChars > 0 {
		meta(metaMaxResult, strconv.AppendInt(nil, int64(o.MaxResultSizeChars), 10))
	}
	definition = annotate(definition, o)
	if len(o.Arguments) == 0 {
		return definition, nil, nil
	}
	input, arguments, err := rewrite(jsonscan.Member(definition, "inputSchema"), o.Arguments)
	if err != nil {
		return nil, nil, err
	}
	return jsonscan.SetMember(definition, "inputSchema", input), arguments, nil
}

// annotate returns the definition of a tool with the hints of o. A title replaces that of the
// annotations too, which older clients show.
func annotate(definition json.RawMessage, o *host.Override) json.RawMessage {
	annotations := jsonscan.Member(definition, "annotations")
	titled := o.Title != "" && jsonscan.Member(objectOr(annotations), "title") != nil
	if len(o.Annotations) == 0 && !titled {
		return definition
	}
	annotations = objectOr(annotations)
	if titled {
		annotations = jsonscan.SetMember(annotations, "title", jsonscan.AppendString(nil, o.Title))
	}
	for _, name := range toolhint.Names() { // in a fixed order
		if value, set := o.Annotations[name]; set {
			annotations = jsonscan.SetMember(annotations, name, fmt.Append(nil, value))
		}
	}
	return jsonscan.SetMember(definition, "annotations", annotations)
}

// objectOr returns an object, or an empty one if there is none.
func objectOr(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || value[0] != '{' {
		return json.RawMessage(`{}`)
	}
	return value
}
