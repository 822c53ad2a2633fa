package reply

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

// The data of an error are shown in words if they have the form that its code requires.
func TestExplainErrors(t *testing.T) {
	for _, tt := range []struct {
		code int
		data string
		name string
		want [][2]string
	}{
		{-32700, ``, "Parse error", nil},
		{-32601, `{"uri":"x"}`, "Method not found", nil},
		{-32602, `{"uri":"file:///a"}`, "Invalid params", [][2]string{{"resource", "file:///a"}}},
		{-32602, `{"uri":[1, 2]}`, "Invalid params", [][2]string{{"resource", "[1,2]"}}},
		{-32602, `{"uri":null}`, "Invalid params", [][2]string{}},
		{-32602, `{"path":"a"}`, "Invalid params", [][2]string{}},
		{-32602, `"text"`, "Invalid params", nil},
		{-32021, `{"requiredCapabilities":{"sampling":{},"extensions":{"c.d/e":{},"a.b/c":{}}}}`,
			"Missing client capability",
			[][2]string{{"needed", "extensions a.b/c, extensions c.d/e, sampling"}}},
		{-32021, `{"requiredCapabilities":{"experimental":7}}`, "Missing client capability",
			[][2]string{{"needed", "experimental"}}},
		{-32021, `[{"requiredCapabilities":7}]`, "Missing client capability", nil},
		{-32021, `{"requiredCapabilities":7}`, "Missing client capability", [][2]string{}},
		{-32022, `{"supported":["2025-11-25",7],"requested":"2026-07-28"}`,
			"Unsupported protocol version",
			[][2]string{{"supported", "2025-11-25, 7"}, {"requested", "2026-07-28"}}},
		{-32022, `{"supported":{"a":1}}`, "Unsupported protocol version", [][2]string{}},
		{-32042, `{"elicitations":[{"url":"https://a.example"},{},{"url":7}]}`,
			"URL elicitation required", [][2]string{{"pages", "https://a.example, , 7"}}},
		{-32042, `{"elicitations":"x"}`, "URL elicitation required", [][2]string{}},
		{-32800, ``, "Request cancelled", nil},
		{-32050, `{"uri":"x"}`, "Server error", nil},
		{7, `{"uri":"x"}`, "Error", nil},
	} {
		p := Problem{Data: json.RawMessage(tt.data)}
		p.explain(tt.code)
		assert.Equal(t, p.RPCName, tt.name, "%d", tt.code)
		assert.DeepEqual(t, p.Facts, tt.want)
	}
}

func TestProblemIn(t *testing.T) {
	for _, message := range []string{``, `{`, `null`, `[{"error":{"code":7}}]`, `{"result":{}}`,
		`{"error":null}`, `{"error":"no"}`, `{"error":{}}`, `{"error":{"code":"7"}}`,
		`{"Error":{"code":7}}`} {
		assert.Assert(t, ProblemIn([]byte(message)) == nil, message)
	}
	p := ProblemIn([]byte(`{"id":1,"error":{"code":-32602,"message":"no","data":{"uri":"a"}}}`))
	assert.Equal(t, *p.RPC, -32602)
	assert.Equal(t, p.Message, "no")
	assert.Equal(t, string(p.Data), `{"uri":"a"}`)
	assert.DeepEqual(t, p.Facts, [][2]string{{"resource", "a"}})
	p = ProblemIn([]byte(`{"error":{"code":7,"message":8}}`))
	assert.Equal(t, p.Message, "8")
}
