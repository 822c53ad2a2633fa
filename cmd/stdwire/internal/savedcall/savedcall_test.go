package savedcall

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"calls":[{"tool":"a"}]}`: "",
		`{"calls":[{"tool":"a","expect":{"error":-32602}},{"method":"ping","params":{}}]}`: "",
		`{"calls":[]}`:                            "",
		`[]`:                                      "cannot unmarshal",
		`{"calls":[]} {}`:                         "text after",
		`{"call":[]}`:                             `unknown field "call"`,
		`{"calls":[{"name":"x"}]}`:                `call 1, "x": it needs either a "tool" or a "method"`,
		`{"calls":[{"tool":"a","method":"b"}]}`:   "either",
		`{"calls":[{"tool":"a","params":{}}]}`:    `has "arguments"`,
		`{"calls":[{"tool":"a","arguments":[]}]}`: "not an object",
		`{"calls":[{"tool":"a","expect":{"error":"no"}}]}`:                `neither a number nor "isError"`,
		`{"calls":[{"tool":"a","expect":{"error":1,"values":{"/a":1}}}]}`: "no result",
		`{"calls":[{"tool":"a","expect":{"schema":{"type":"x"}}}]}`:       `"schema"`,
		`{"calls":[{"tool":"a","expect":{"values":{"a":1}}}]}`:            "not a JSON pointer",
		`{"calls":[{"tool":"a","expect":{"within":"fast"}}]}`:             "not a duration",
		`{"calls":[{"tool":"a","expect":{"within":"0s"}}]}`:               "not a duration",
		`{"calls":[{"tool":"a","expect":{"withn":"1s"}}]}`:                `unknown field "withn"`,
	} {
		_, err := Parse([]byte(text))
		if want == "" {
			assert.NilError(t, err, "%s", text)
			continue
		}
		assert.Assert(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}

func TestExpectations(t *testing.T) {
	refused := errors.Join(&rpc.Error{Code: -32602, Message: "bad"})
	const result = `{"content":[{"type":"text","text":"a/b"}],"structuredContent":{"n": 1.0, "a/b": [1, {"c": null}]}}`
	for _, tt := range []struct {
		expect, result string
		err            error
		want           string // the failures
	}{
		{`{}`, result, nil, ""},
		{`{}`, `{"isError":true,"content":[{"type":"text","text":"no\nkey"}]}`, nil,
			"the tool reports an error: no key"},
		{`{}`, "", refused, "-32602"},
		{`{"error":-32602}`, "", refused, ""},
		{`{"error":-32601}`, "", refused, "it did not fail with error -32601"},
		{`{"error":-32601}`, "", errors.New("died"), "it did not fail with error -32601: died"},
		{`{"error":-32601}`, result, nil, "it succeeded"},
		{`{"error":"isError"}`, `{"isError":true}`, nil, ""},
		{`{"error":"isError"}`, result, nil, "did not report an error"},
		{`{"values":{"/structuredContent/n":1,"/content/0/text":"a/b","/structuredContent/a~1b/1":{"c":null}}}`,
			result, nil, ""},
		{`{"values":{"/structuredContent/n":2}}`, result, nil,
			"/structuredContent/n: 1.0; want 2"},
		{`{"values":{"/s":"pаypal"}}`, `{"s":"paypal"}`, nil, `/s: "paypal"; want "p\u0430ypal"`},
		{`{"values":{"/s":"` + strings.Repeat("word ", 90) + `b"}}`,
			`{"s":"` + strings.Repeat("word ", 90) + `a"}`, nil,
			`/s: …word word word word word word word word a"; want …word word word word word word word word b"`},
		{`{"values":{"/content/1":2}}`, result, nil, "/content/1: there is nothing; want 2"},
		{`{"values":{"/content/0/text/x":2}}`, result, nil, "there is nothing"},
		{`{"values":{"":{"isError":true}},"error":"isError"}`, `{"isError":true}`, nil, ""},
		{`{"schema":{"required":["structuredContent"]}}`, result, nil, ""},
		{`{"schema":{"required":["other"]}}`, result, nil, "does not match the schema"},
		{`{"within":"1s"}`, result, nil, "it took 2s, and at most 1s is allowed"},
		{`{"within":"3s"}`, result, nil, ""},
	} {
		f, err := Parse([]byte(`{"calls":[{"tool":"x","server":"s","expect":` + tt.expect + `}]}`))
		assert.NilError(t, err)
		synctest.Test(t, func(t *testing.T) {
			outcomes := f.Run(t.Context(), func(_ context.Context, c *Call) (json.RawMessage,
				error) {
				method, params := c.Request()
				assert.Equal(t, method+string(params), `tools/call{"name":"x","arguments":{}}`)
				time.Sleep(2 * time.Second)
				return json.RawMessage(tt.result), tt.err
			})
			got := strings.Join(outcomes[0].Failures, "; ")
			assert.Assert(t, strings.Contains(got, tt.want) && (got == "") == (tt.want == ""), "%s: %s",
				tt.expect, got)
			assert.Equal(t, outcomes[0].Ms, 2000.0)
		})
	}
}

func TestJUnit(t *testing.T) {
	text, err := JUnit("a<b", []Outcome{{Name: "one", Ms: 1500}, {"two", "s", 1, []string{"x < y", "z"}}})
	assert.NilError(t, err)
	for _, want := range []string{`<testsuite name="a&lt;b" tests="2" failures="1" time="1.501">`,
		`<testcase name="one" classname="a&lt;b" time="1.500"></testcase>`,
		`<testcase name="two" classname="a&lt;b.s"`, `<failure message="x &lt; y">x &lt; y&#xA;z</failure>`} {
		assert.Assert(t, cmp.Contains(string(text), want))
	}
}

// After the end of the context, no more calls are made.
func TestRunEnds(t *testing.T) {
	f, err := Parse([]byte(`{"calls":[{"tool":"a"},{"tool":"b"}]}`))
	assert.NilError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := f.Run(ctx, func(context.Context, *Call) (json.RawMessage, error) {
		cancel()
		return json.RawMessage(`{}`), nil
	})
	assert.Equal(t, len(outcomes[0].Failures), 0)
	assert.DeepEqual(t, outcomes[1].Failures, []string{"not run: context canceled"})
}
