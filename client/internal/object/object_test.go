package object

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestAppendObject(t *testing.T) {
	type arguments struct {
		Text string          `json:"text"`
		Raw  json.RawMessage `json:"raw,omitempty"`
		List []int           `json:"list"`
		Map  map[string]any  `json:"map"`
		Ptr  *int            `json:"ptr"`
	}
	var none *arguments
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"nil":         {nil, `{}`},
		"nil pointer": {none, `{}`},
		"nil raw":     {json.RawMessage(nil), `{}`},
		"HTML": {arguments{Text: "<a href=\"?x&y\">"},
			`{"text":"<a href=\"?x&y\">","list":null,"map":null,"ptr":null}`},
		"raw": {json.RawMessage("{ \"a\" :\n[1.0, \"<\\u003c\"]\r\n}"),
			`{"a":[1.0,"<\u003c"]}`},
		"nested raw": {map[string]any{"r": json.RawMessage("[1.0,\n\"<\"]")}, `{"r":[1.0,"<"]}`},
		"map":        {map[string]any{"b": 1e21, "a": []byte("x")}, `{"a":"eA==","b":1e+21}`},
		"message": {&mcp.GetPromptParams{Name: "<p>", Arguments: map[string]string{"k": "&"}},
			`{"name":"<p>","arguments":{"k":"&"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Append([]byte("before "), test.value)
			assert.NilError(t, err)
			assert.Equal(t, string(got), "before "+test.want)
		})
	}
	for name, value := range map[string]any{"array": []int{1}, "string": "x",
		"invalid raw": json.RawMessage(`{"a"`), "channel": map[string]any{"c": make(chan int)}} {
		t.Run(name, func(t *testing.T) {
			_, err := Append(nil, value)
			assert.Check(t, err != nil)
		})
	}
}
