// Package astools offers the resources and prompts of a server as tools, for hosts that know only
// tools.
package astools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Source is the server.
type Source struct {
	// Offered returns the offered definitions of a kind by their names or URIs, as the client of
	// the request in ctx sees them.
	Offered func(ctx context.Context, kind mcp.Kind) map[string]json.RawMessage
	// Read and Get return the results of resources/read and prompts/get.
	Read func(ctx context.Context, uri string) (json.RawMessage, error)
	Get  func(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
}

const (
	maxItems = 100      // of a page of a list
	maxPage  = 64 << 10 // bytes of a page, if it has more than one item
)

// schemas of the arguments of tools
const (
	cursorSchema = `{"type":"object","properties":{"cursor":{"type":"string","description":` +
		`"nextCursor of the page before."}}}`
	uriSchema = `{"type":"object","properties":{"uri":{"type":"string","description":` +
		`"The URI, from the list or made from a template of it."}},"required":["uri"]}`
	promptSchema = `{"type":"object","properties":{"name":{"type":"string","description":` +
		`"The name in the list."},"arguments":{"type":"object","description":` +
		`"The arguments that the list names.","additionalProperties":{"type":"string"}}},` +
		`"required":["name"]}`
)

// Tools returns the tools for items of a kind: [mcp.KindResource], which includes templates, or
// [mcp.KindPrompt].
func (s *Source) Tools(kind mcp.Kind) []*definition.Definition {
	if kind == mcp.KindPrompt {
		return []*definition.Definition{
			tool("list_prompts", "List the prompts: texts to follow, by their names.", cursorSchema,
				s.list(mcp.KindPrompt)),
			tool("get_prompt", "Get the text of a prompt. list_prompts has the names.", promptSchema,
				s.get)}
	}
	return []*definition.Definition{
		tool("list_resources", "List the resources: what can be read, by their URIs, and templates of URIs.",
			cursorSchema, s.list(mcp.KindResource, mcp.KindResourceTemplate)),
		tool("read_resource", "Read a resource. list_resources has the URIs.", uriSchema, s.read)}
}

// tool returns a tool that changes nothing.
func tool(name, description, input string,
	use func(context.Context, arguments) (json.RawMessage, error)) *definition.Definition {
	text, _ := mcp.Marshal(struct { // strings and valid JSON
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}{name, description, json.RawMessage(input), json.RawMessage(`{"readOnlyHint":true}`)})
	return &definition.Definition{Own: name, Name: name, Text: text, Passed: text, Idempotent: true,
		Use: func(ctx context.Context, given json.RawMessage) (json.RawMessage, error) {
			var a arguments
			if len(given) > 0 {
				if err := mcp.Unmarshal(given, &a); err != nil {
					return failed("Invalid arguments: " + err.Error())
				}
			}
			return use(ctx, a)
		}}
}

// arguments are those of all tools.
type arguments struct {
	Cursor    string          `json:"cursor"`
	URI       string          `json:"uri"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// result returns the result of a tool.
func result(isError bool, content ...mcp.Content) (json.RawMessage, error) {
	return mcp.Marshal(&mcp.CallToolResult{Content: content, IsError: isError,
		Result: mcp.Result{ResultType: mcp.ResultComplete}})
}

// failed returns a result that the model can act on.
func failed(text string) (json.RawMessage, error) {
	return result(true, &mcp.TextContent{Text: text})
}

// list returns a tool that lists items of these kinds, sorted, page by page.
func (s *Source) list(kinds ...mcp.Kind) func(context.Context, arguments) (json.RawMessage, error) {
	return func(ctx context.Context, a arguments) (json.RawMessage, error) {
		after, lists, n := "", make(map[string][]json.RawMessage), 0
		page, size, more := []byte{'{'}, 0, ""
		for i, kind := range kinds {
			offered := s.Offered(ctx, kind)
			keys := make([]string, 0, len(offered))
			for key := range offered {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			for _, key := range keys {
				position := string(rune('0'+i)) + key // templates follow resources
				if position <= a.Cursor || more != "" {
					continue
				}
				size += len(offered[key])
				if n == maxItems || n > 0 && size > maxPage {
					more = after
					continue
				}
				lists[kind.Info().ListMember] = append(lists[kind.Info().ListMember], offered[key])
				after, n = position, n+1
			}
		}
		for _, kind := range kinds {
			list := []byte{'['}
			for i, text := range lists[kind.Info().ListMember] {
				if i > 0 {
					list = append(list, ',')
				}
				list = append(list, text...)
			}
			page = jsonscan.AppendMember(page, jsonscan.AppendString(nil, kind.Info().ListMember),
				append(list, ']'))
		}
		if more != "" {
			page = jsonscan.AppendMember(page, []byte(`"nextCursor"`),
				jsonscan.AppendString(nil, more))
		}
		return result(false, &mcp.TextContent{Text: string(append(page, '}'))})
	}
}

// read reads a resource: texts and images as such, everything else embedded.
func (s *Source) read(ctx context.Context, a arguments) (json.RawMessage, error) {
	if a.URI == "" {
		return failed("Invalid arguments: uri is missing")
	}
	raw, err := s.Read(ctx, a.URI)
	if err != nil {
		return nil, err
	}
	var found mcp.ReadResourceResult
	if err := mcp.Unmarshal(raw, &found); err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "The resource %.200q is invalid: %v", a.URI, err)
	}
	content := make([]mcp.Content, 0, len(found.Contents))
	for _, c := range found.Contents {
		switch {
		case c.Blob == nil:
			content = append(content, &mcp.TextContent{Text: c.Text})
		case strings.HasPrefix(c.MIMEType, "image/"):
			content = append(content, &mcp.ImageContent{Data: c.Blob, MIMEType: c.MIMEType})
		default:
			content = append(content, &mcp.EmbeddedResource{Resource: c})
		}
	}
	return result(false, content...)
}

// get gets a prompt: the content of its messages in order, with their roles unless all are the
// user's.
func (s *Source) get(ctx context.Context, a arguments) (json.RawMessage, error) {
	if _, ok := s.Offered(ctx, mcp.KindPrompt)[a.Name]; !ok {
		return failed("There is no such prompt: list_prompts has the names")
	}
	raw, err := s.Get(ctx, a.Name, a.Arguments)
	if err != nil {
		return nil, err
	}
	var found mcp.GetPromptResult
	if err := mcp.Unmarshal(raw, &found); err != nil {
		return nil, rpc.Errorf(rpc.CodeInternalError, "The prompt %.200q is invalid: %v", a.Name, err)
	}
	roles := slices.ContainsFunc(found.Messages,
		func(m mcp.PromptMessage) bool { return m.Role != mcp.RoleUser })
	var content []mcp.Content
	for _, m := range found.Messages {
		if roles {
			content = append(content, &mcp.TextContent{Text: string(m.Role) + ":"})
		}
		content = append(content, m.Content)
	}
	return result(false, content...)
}
