package paramheader_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/paramheader"
)

// The examples of the specification (2026-07-28, basic/transports/streamable-http, Value Encoding),
// and edge cases.
func TestHeaderValues(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1":             "us-west1",
		"Hello, 世界":            "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":             "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":         "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":   "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"":                     "",
		"a b":                  "a b",
		"a\tb":                 "=?base64?YQli?=",
		"\r\nX-Injected: 1":    "=?base64?DQpYLUluamVjdGVkOiAx?=",
		"=?base64?half":        "=?base64?half",
		"=?BASE64?other?=":     "=?BASE64?other?=",
		"=?base64?=":           "=?base64?PT9iYXNlNjQ/PQ==?=", // prefix and suffix overlap
		"\x7f":                 "=?base64?fw==?=",
		"~":                    "~",
		"=?base64??=":          "=?base64?PT9iYXNlNjQ/Pz0=?=",
		"file:///a%20b/c.json": "file:///a%20b/c.json",
	} {
		assert.Equal(t, paramheader.Encode(text), want, "%q", text)
		got, err := paramheader.Decode(want)
		assert.NilError(t, err)
		assert.Equal(t, got, text)
	}
	for _, broken := range []string{
		"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?SGVsbG9=?=", "=?base64?/w==?=",
		"=?base64?SGVs bG8=?=", "h\xc3\xa9", "a\nb", "a\x00", "\x7f",
	} {
		_, err := paramheader.Decode(broken)
		assert.Assert(t, err != nil, "%q", broken)
	}
	got, err := paramheader.Decode("a\tb")
	assert.NilError(t, err)
	assert.Equal(t, got, "a\tb")
	got, err = paramheader.Decode("=?base64?=")
	assert.NilError(t, err)
	assert.Equal(t, got, "=?base64?=")
}

func TestHeaderParams(t *testing.T) {
	for schema, want := range map[string]string{ // either what is found, or a part of the error
		`{"type":"object"}`: "[]",
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"n!#$%&'*+-.^_|~9"}}}`: "[Mcp-Param-Region=a Mcp-Param-n!#$%&'*+-.^_|~9=b]",
		`{"properties":{"a":{"type":"object","properties":{"b":{"type":["null","boolean"],"x-mcp-header":"B"}}}}}`:                                "[Mcp-Param-B=a.b]",
		`{"properties":{"x-mcp-header":{"type":"string"}}}`:                                                                                       "[]",
		`{"properties":{"a":{"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":""}]}}}`:                                                        "[]",
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                                                "not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`:                                                                                 "not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`:                                                                             "not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a:"}}}`:                                                                              "not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`:                                                                               "not a header name",
		`{"properties":{"a":{"type":"string","x-mcp-header":"a\n"}}}`:                                                                             "not a header name",
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                                                               "not string, integer or boolean",
		`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`:                                                                               "not string, integer or boolean",
		`{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`:                                                                                "not string, integer or boolean",
		`{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`:                                                                                 "not string, integer or boolean",
		`{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}`:                                                                   "not string, integer or boolean",
		`{"properties":{"a":{"x-mcp-header":"A"}}}`:                                                                                               "not string, integer or boolean",
		`{"type":"string","x-mcp-header":"A"}`:                                                                                                    "properties alone",
		`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`:                                                                     "properties alone",
		`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`:                                                                   "properties alone",
		`{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`:                                                                                    "properties alone",
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`:                                                                        "properties alone",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`:                                      `"a" occurs twice`,
		`not JSON x-mcp-header`: "[]",
	} {
		found, err := paramheader.Of(json.RawMessage(schema))
		if err != nil {
			assert.ErrorContains(t, err, want, schema)
			assert.Assert(t, found == nil)
			continue
		}
		var got []string
		for _, p := range found {
			got = append(got, p.Header+"="+strings.Join(p.Path, "."))
		}
		assert.Equal(t, fmt.Sprint(got), want, schema)
	}
}

func TestHeaderParamValue(t *testing.T) {
	p := paramheader.Param{Header: "Mcp-Param-A", Path: []string{"in", "a"}}
	for value, want := range map[string]string{
		`"é\n"`: "é\n", `""`: "", `true`: "true", `false`: "false", `42`: "42", `-7`: "-7",
		`42.0`: "42", `1e3`: "1000", `0`: "0", `-0`: "0",
		`9007199254740991`: "9007199254740991",
	} {
		text, ok, err := p.Value(json.RawMessage(`{"in":{"b":1,"a":` + value + `}}`))
		assert.NilError(t, err)
		assert.Assert(t, ok)
		assert.Equal(t, text, want, value)
		assert.NilError(t,
			p.Check([]string{paramheader.Encode(want)}, json.RawMessage(`{"in":{"a":`+value+`}}`)))
	}
	for _, arguments := range []string{``, `{}`, `{"in":1}`, `{"in":{}}`, `{"in":{"a":null}}`,
		`{"in":null}`} {
		_, ok, err := p.Value(json.RawMessage(arguments))
		assert.NilError(t, err)
		assert.Assert(t, !ok, arguments)
		assert.NilError(t, p.Check(nil, json.RawMessage(arguments)))
		assert.ErrorContains(t, p.Check([]string{"x"}, json.RawMessage(arguments)),
			"is present, but the argument in.a is not")
	}
	for _, value := range []string{`9007199254740992`, `-9007199254740992`, `9007199254740992.0`, `1.5`, `1e400`, `[]`,
		`{}`} {
		_, _, err := p.Value(json.RawMessage(`{"in":{"a":` + value + `}}`))
		assert.ErrorContains(t, err, "the argument in.a is neither a string", value)
	}
	check := func(header, value string) error {
		return p.Check([]string{header}, json.RawMessage(`{"in":{"a":`+value+`}}`))
	}
	assert.NilError(t, check("42.0", `42`))
	assert.ErrorContains(t, check("42.0", `"42"`), "differs from the argument")
	assert.ErrorContains(t, check("43", `42`), "differs from the argument")
	assert.ErrorContains(t, check("TRUE", `true`), "differs from the argument")
	assert.ErrorContains(t, check("=?base64?x?=", `"x"`), "is not valid base64")
	assert.ErrorContains(t, p.Check(nil, json.RawMessage(`{"in":{"a":""}}`)), "is missing")
}

func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{"", "a", " a", "=?base64?YQ==?=", "é", "a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := paramheader.Encode(text)
		for _, c := range []byte(value) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q has %q", value, c)
			}
		}
		if back, err := paramheader.Decode(value); strings.ToValidUTF8(text, "") == text &&
			(err != nil || back != text) {
			t.Fatalf("%q became %q, %q, %v", text, value, back, err)
		}
	})
}
