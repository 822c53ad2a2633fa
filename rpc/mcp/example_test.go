package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func ExampleUnmarshal() {
	result := []byte(
		`{"content":[{"type":"text","text":"12 °C"},{"type":"chart","points":[1,2]}],"Content":[],"isError":false}`)
	var r mcp.CallToolResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			fmt.Println("text:", c.Text)
		case *mcp.UnknownContent:
			fmt.Println("left alone:", string(c.Raw))
		}
	}
	// Output:
	// text: 12 °C
	// left alone: {"type":"chart","points":[1,2]}
}

func ExampleUnmarshal_duplicateKey() {
	err := mcp.Unmarshal([]byte(`{"name":"read_file","name":"delete_file"}`),
		new(mcp.CallToolParams))
	fmt.Println(errors.Is(err, mcp.ErrDuplicateKey), err)
	// Output: true name: the key occurs twice (at byte 27)
}

func ExampleMarshal() {
	tool := mcp.Tool{
		Name:        "fs_read",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)},
		Extra:       mcp.Extra{"x-vendor": json.RawMessage(`1`)},
	}
	b, err := mcp.Marshal(tool)
	fmt.Println(string(b), err)
	// Output: {"name":"fs_read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"x-vendor":1} <nil>
}

func ExampleMethodAt() {
	for _, r := range []mcp.Revision{mcp.Rev20251125, mcp.Rev20260728} {
		_, ok := mcp.MethodAt(mcp.MethodPing, r)
		f, _ := mcp.FeaturesOf(r)
		fmt.Println(r, f.Era, ok)
	}
	// Output:
	// 2025-11-25 legacy true
	// 2026-07-28 modern false
}

func ExampleMeta() {
	var m mcp.Meta // of a modern request
	for key, v := range map[string]any{
		mcp.MetaProtocolVersion: mcp.LatestModern,
		mcp.MetaClientCapabilities: mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{}},
	} {
		if err := m.Set(key, v); err != nil {
			fmt.Println(err)
		}
	}
	b, _ := mcp.Marshal(mcp.ListParams{Params: mcp.Params{Meta: m}})
	fmt.Println(string(b))
	// Output: {"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}
}
