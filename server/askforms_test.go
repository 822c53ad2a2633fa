package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Invalid answers are ignored: a modern client is asked again, and the request of a legacy client
// fails.
func TestInvalidAnswers(t *testing.T) {
	type none struct {
		ask     func(ctx context.Context) (string, error)
		key     string
		answers []string
	}
	for name, tc := range map[string]none{
		"form": {elicitName, "name", []string{
			`{}`, `{"action":"maybe"}`, `{"action":7}`, `{"action":"accept"}`,
			`{"action":"accept","content":{}}`, `{"action":"accept","content":{"name":""}}`,
			`{"action":"accept","content":{"name":7}}`,
			`{"action":"accept","content":{"name":"A","n":1.5}}`,
			`{"action":"accept","content":{"name":"A","mail":"nobody"}}`,
			`{"action":"accept","content":[]}`, `{"action":"accept","content":"A"}`,
			`{"Action":"accept","content":{"name":"A"}}`,
			`{"action":"accept","content":{"name":"A","name":"B"}}`,
		}},
		"sampling": {func(ctx context.Context) (string, error) {
			m, err := server.Sample(ctx, "s", mcp.CreateMessageParams{MaxTokens: 1})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%T", m.Content[0]), nil
		}, "s", []string{`{}`, `{"role":"assistant","model":"m"}`,
			`{"role":"assistant","content":[],"model":"m"}`,
			`{"content":{"type":"text","text":"t"},"model":"m"}`,
			`{"role":"assistant","content":"t","model":"m"}`,
			`{"role":"assistant","content":{},"model":"m"}`,
			`{"role":"assistant","content":[null],"model":"m"}`}},
		"roots": {func(ctx context.Context) (string, error) {
			r, err := server.Roots(ctx, "r")
			return fmt.Sprint(len(r)), err
		}, "r", []string{`{}`, `{"roots":null}`, `{"roots":{}}`, `{"roots":["file:///"]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := everywhere(quiet, tc.ask)
			k := speak(t, s, newest, everything)
			legacy := speak(t, s, "2025-11-25", everything)
			for _, answer := range tc.answers {
				for _, p := range []place{places["tool"], places["operation"], places["resource"]} {
					a := k.request(p.method, p.params).asks(tc.key)
					k.again(p, a, fmt.Sprintf(`{%q:%s}`, tc.key, answer)).asks(tc.key)

					legacy.reply(legacy.request(p.method, p.params), answer)
					m := legacy.next()
					if p == places["operation"] {
						assert.Assert(t, strings.Contains(m.raw, `"code":"internal_error"`),
							"%s: %s", answer, m.raw)
						continue
					}
					m.fails(-32603, "Internal error")
				}
			}
			for _, answer := range []string{`null`, `7`, `"x"`, `[]`} {
				p := places["prompt"]
				a := k.request(p.method, p.params).asks(tc.key)
				k.again(p, a, fmt.Sprintf(`{%q:%s}`, tc.key, answer)).fails(-32602,
					"must be an object")
				legacy.reply(legacy.request(p.method, p.params), answer)
				legacy.next().fails(-32603, "Internal error")
			}
			legacy.expectNothing()
		})
	}
}

func TestElicitURL(t *testing.T) {
	id := ""
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "u",
			mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Pay.",
				URL: "https://example.com/pay?x=1", ElicitationID: id})
		if err != nil {
			return "", err
		}
		return string(r.Action) + string(r.Content), nil
	})
	for _, id = range []string{"", "mine"} {
		inPlaces(t, func(t *testing.T, p place) {
			k := speak(t, s, newest, everything)
			a := k.request(p.method, p.params).asks("u")
			assert.Equal(t, string(a.InputRequests["u"].Params),
				`{"mode":"url","message":"Pay.","url":"https://example.com/pay?x=1"}`)
			k.again(p, a, `{"u":{"action":"accept"}}`).expectText("accept")

			k = speak(t, s, "2025-11-25", everything)
			m := k.request(p.method, p.params).expectMethod("elicitation/create", "")
			var params mcp.ElicitParams
			assert.NilError(t, mcp.Unmarshal(m.Params, &params))
			assert.Assert(t, params.ElicitationID != "" &&
				(id == "" || params.ElicitationID == id) && params.RequestedSchema == nil, m.raw)
			k.reply(m, `{"action":"accept"}`)
			k.next().expectText("accept")
			speak(t, s, "2025-06-18", everything).expectError(p.method, p.params, -32602, "elicitation")
		})
	}
}

// A form that the specification does not allow is an error of the handler, and is not sent to the
// client.
func TestInvalidForms(t *testing.T) {
	var params mcp.ElicitParams
	var got error
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, got = server.Elicit(ctx, "k", params)
		return "handled", nil
	})
	for form, want := range map[string]string{
		``:                                 "schema of the form",
		`{`:                                "schema of the form",
		`[]`:                               "schema of the form",
		`true`:                             "schema of the form",
		`{"type":"object"}`:                "must have type object and properties",
		`{"type":"array","properties":{}}`: "must have type object",
		`{"properties":{}}`:                "must have type object",
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`:                    `"a" must be a string, number`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`:                             `"a" must be a string`,
		`{"type":"object","properties":{"a":{"type":"null"}}}`:                                      `"a" must be a string`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`:           `"a" must be a string`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                     `"a" must be a string`,
		`{"type":"object","properties":{"a":{"type":"string","format":"hostname"}}}`:                `the format is none of`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`: `"a" must be a string`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:                           `schema of the form`,
		`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"string"}}}`:              `schema of the form`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`:                     `schema of the form`,
	} {
		params = mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(form)}
		for _, revision := range []string{"2025-06-18", "2025-11-25", newest} {
			speak(t, s, revision, everything).request("tools/call", `{"name":"t"}`).expectText("handled")
			assert.ErrorContains(t, got, want, form)
			assert.ErrorContains(t, got, `server: Elicit "k"`)
		}
	}
	for want, p := range map[string]mcp.ElicitParams{
		"the URL must be absolute": {Mode: mcp.ElicitURL, Message: "m"},
		`the mode "voice"`: {Mode: "voice", Message: "m",
			RequestedSchema: json.RawMessage(nameForm)}} {
		params = p
		speak(t, s, newest, everything).request("tools/call", `{"name":"t"}`).expectText("handled")
		assert.ErrorContains(t, got, want)
	}
	// All forms that the specification allows, for revisions that have them.
	params = mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "m",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{
		"s":{"type":"string","title":"S","minLength":1,"maxLength":10,"format":"date","default":"2026-01-01"},"n":{"type":"number","minimum":0.5},"i":{"type":"integer"},"b":{"type":"boolean","default":true},
		"e":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"o":{"type":"string","oneOf":[{"const":"a","title":"A"}]},
		"m":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},"t":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}},"required":["i"]}`)}
	k := speak(t, s, newest, everything)
	k.request("tools/call", `{"name":"t"}`).expectText("handled") // the handler did not return the error
	k = speak(t, s, "2025-11-25", everything)
	k.reply(k.request("tools/call", `{"name":"t"}`).expectMethod("elicitation/create", ""),
		`{"action":"accept","content":{"i":1,"m":["a"]}}`)
	k.next().expectText("handled")
	assert.NilError(t, got)
	speak(t, s, "2025-06-18", everything).request("tools/call", `{"name":"t"}`).expectText("handled")
	assert.ErrorContains(t, got, `which revision 2025-06-18 does not have`)
}
