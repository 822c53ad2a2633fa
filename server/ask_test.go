package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A place is a kind of request whose handler may ask its client: a method, params, the same params
// in another encoding, and other params.
type place struct{ method, params, same, other string }

var places = map[string]place{
	"tool": {"tools/call", `{"name":"t","arguments":{"a":"b"}}`,
		`{"arguments" : {"\u0061": "b"}, "n\u0061me":"t"}`, `{"name":"t","arguments":{"a":"c"}}`},
	"operation": {"tools/call", `{"name":"op_run","arguments":{"a":[1,{"b":"c"}]}}`,
		`{ "name":"op\u005frun","arguments":{"a":[1,{"b" :"\u0063"}]}}`,
		`{"name":"op_run","arguments":{"a":[1.0,{"b":"c"}]}}`},
	"prompt": {"prompts/get", `{"name":"t","arguments":{"a":"b"}}`,
		`{"arguments":{"a":"\u0062"},"name":"t"}`, `{"name":"t","arguments":{"a":"b","c":"d"}}`},
	"resource": {"resources/read", `{"uri":"x:r"}`, `{"uri": "\u0078:r"}`, `{"uri":"t:r"}`},
	"template": {"resources/read", `{"uri":"t:7"}`, `{"\u0075ri":"t:7"}`, `{"uri":"t:8"}`},
}

// everywhere returns a server that runs the handler in every place. The text of the handler becomes
// part of the result.
func everywhere(o server.Options,
	handler func(ctx context.Context) (string, error)) *server.Server {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "op.run", Summary: "Runs.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(ctx context.Context, _ json.RawMessage) (string, error) { return handler(ctx) })
	s := o.New(server.Info{Name: "test", Version: "1.2"}, c)
	tool := echo("t", `{"type":"object"}`)
	tool.Call = func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		said, err := handler(ctx)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, err
	}
	prompt := recites("p")
	prompt.Get = func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
		said, err := handler(ctx)
		return &mcp.GetPromptResult{
			Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: said}}}}, err
	}
	same := prompt
	same.Name = "t"
	read := func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		said, err := handler(ctx)
		return text(uri, said), err
	}
	r := resource("x:r")
	r.Read = read
	template := echoes("t:{id}")
	template.Read = func(ctx context.Context, uri string,
		_ map[string]string) (*mcp.ReadResourceResult, error) {
		return read(ctx, uri)
	}
	if err := errors.Join(s.AddRawTool(tool), s.AddPrompt(prompt), s.AddPrompt(same),
		s.AddResource(r), s.AddResourceTemplate(template)); err != nil {
		panic(err)
	}
	return s
}

// inPlaces runs a test in every place.
func inPlaces(t *testing.T, f func(t *testing.T, p place)) {
	for name, p := range places {
		t.Run(name, func(t *testing.T) { f(t, p) })
	}
}

// expectText asserts that the handler has returned with this text.
func (m message) expectText(want string) {
	m.t.Helper()
	encoded, err := mcp.Marshal(want)
	assert.NilError(m.t, err)
	// in old revisions an operation's envelope is a text
	escaped, err := mcp.Marshal(string(encoded))
	assert.NilError(m.t, err)
	assert.Assert(m.t, m.Result != nil && !strings.Contains(m.raw, `"input_required"`), m.raw)
	assert.Assert(m.t, strings.Contains(m.raw, string(encoded)) ||
		strings.Contains(m.raw, strings.Trim(string(escaped), `"`)), "%s: %s", want, m.raw)
}

// An asked is a result that contains questions for the client.
type asked struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params json.RawMessage
	}
}

// asks asserts that the message is a modern result with exactly these questions.
func (m message) asks(keys ...string) (a asked) {
	m.t.Helper()
	assert.Assert(m.t, m.Error == nil, m.raw)
	assert.NilError(m.t, json.Unmarshal(m.Result, &a))
	assert.Equal(m.t, a.ResultType, "input_required", m.raw)
	assert.Equal(m.t, len(a.InputRequests), len(keys), m.raw)
	for _, key := range keys {
		assert.Assert(m.t, a.InputRequests[key].Method != "", m.raw)
	}
	return a
}

// again repeats a request with answers.
func (k *lineClient) again(p place, a asked, answers string) message {
	k.t.Helper()
	return k.request(p.method, strings.TrimSuffix(p.params, "}")+
		fmt.Sprintf(`,"inputResponses":%s,"requestState":%q}`, answers, a.RequestState))
}

const (
	everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	nameForm   = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"n":{"type":"integer","default":3},"mail":{"type":"string","format":"email"}},"required":["name"]}`
)

// elicitName asks for a name, and returns a description of the outcome.
func elicitName(ctx context.Context) (string, error) {
	r, err := server.Elicit(ctx, "name",
		mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(nameForm)})
	if err != nil {
		return "", err
	}
	return string(r.Action) + " " + string(r.Content), nil
}

func TestElicit(t *testing.T) {
	s := everywhere(quiet, elicitName)
	const question = `{"message":"Your name?","requestedSchema":` + nameForm + `}`
	answers := map[string]string{
		`{"action":"accept","content":{"name":"Ann"}}`:                    `accept {"name":"Ann","n":3}`,
		`{"action":"accept","content":{"n":4,"name":"Ä","mail":"a@b.c"}}`: `accept {"n":4,"name":"Ä","mail":"a@b.c"}`,
		`{"action":"decline"}`:                      `decline `,
		`{"action":"cancel"}`:                       `cancel `,
		`{"action":"decline","content":{"name":7}}`: `decline {"name":7}`,
	}
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
			for answer, want := range answers {
				k := speak(t, s, revision, `{"elicitation":{}}`)
				m := k.request(p.method, p.params).expectMethod("elicitation/create", question)
				k.reply(m, answer)
				k.next().expectText(want)
			}
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{"elicitation":{}}`)
			for answer, want := range answers {
				a := k.request(p.method, p.params).asks("name")
				assert.Equal(t, a.InputRequests["name"].Method, "elicitation/create")
				assert.Equal(t, string(a.InputRequests["name"].Params), question)
				k.again(p, a, `{"name":`+answer+`}`).expectText(want)
			}
		})
	})
}

// A client gets no question for a capability that it has not declared. The error names the missing
// capability.
func TestMissingCapabilities(t *testing.T) {
	var ask func(ctx context.Context) error
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		return "", fmt.Errorf("wrapped: %w", ask(ctx))
	})
	elicit := func(p mcp.ElicitParams) func(context.Context) error {
		return func(ctx context.Context) error { _, err := server.Elicit(ctx, "k", p); return err }
	}
	sample := func(p mcp.CreateMessageParams) func(context.Context) error {
		return func(ctx context.Context) error { _, err := server.Sample(ctx, "k", p); return err }
	}
	form := mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(nameForm)}
	url := mcp.ElicitParams{Message: "m", Mode: mcp.ElicitURL, URL: "https://example.com"}
	for name, tc := range map[string]struct {
		ask          func(context.Context) error
		capabilities string
		want         string // the data of the modern error
		text         string
		legacy       []string
	}{
		"no elicitation": {elicit(form), `{}`, `{"elicitation":{"form":{}}}`, "elicitation",
			legacyRevisions},
		"no forms": {elicit(form), `{"elicitation":{"url":{}}}`,
			`{"elicitation":{"form":{}}}`, "elicitation", legacyRevisions},
		"no URLs": {elicit(url), `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`,
			"elicitation", legacyRevisions},
		"too old": {elicit(form), `{}`, `{"elicitation":{"form":{}}}`, "elicitation",
			legacyRevisions[:2]},
		"too old for URLs": {elicit(url), `{"elicitation":{"form":{}}}`,
			`{"elicitation":{"url":{}}}`, "elicitation", legacyRevisions[:3]},
		"no sampling": {sample(mcp.CreateMessageParams{MaxTokens: 1}), `{"roots":{}}`,
			`{"sampling":{}}`, "sampling", legacyRevisions},
		"no tools": {sample(mcp.CreateMessageParams{MaxTokens: 1, Tools: []*mcp.Tool{}}),
			`{"sampling":{}}`, `{"sampling":{"tools":{}}}`, "sampling.tools", legacyRevisions},
		"no choice": {sample(mcp.CreateMessageParams{MaxTokens: 1, ToolChoice: &mcp.ToolChoice{}}),
			`{"sampling":{}}`, `{"sampling":{"tools":{}}}`, "sampling.tools", legacyRevisions},
		"no roots": {func(ctx context.Context) error {
			_, err := server.Roots(ctx, "k")
			return err
		}, `{"sampling":{}}`, `{"roots":{}}`, "roots", legacyRevisions},
	} {
		t.Run(name, func(t *testing.T) {
			ask = tc.ask
			inPlaces(t, func(t *testing.T, p place) {
				k := speak(t, s, newest, tc.capabilities)
				m := k.expectError(p.method, p.params, -32021, "does not declare the capability "+
					tc.text)
				assert.Equal(t, string(m.Error.Data), `{"requiredCapabilities":`+tc.want+`}`)
				in(t, tc.legacy, func(t *testing.T, revision string) {
					speak(t, s, revision, tc.capabilities).expectError(p.method, p.params, -32602,
						"does not declare the capability "+tc.text)
				})
			})
		})
	}
	// A handler may continue without the answer.
	s = everywhere(quiet, func(ctx context.Context) (string, error) {
		if _, err := elicitName(ctx); err == nil {
			return "", errors.New("asked")
		}
		return "without", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		in(t, allRevisions, func(t *testing.T, revision string) {
			speak(t, s, revision, `{}`).request(p.method, p.params).expectText("without")
		})
	})
}

// Capabilities of an old revision do not have the meaning of the current ones.
func TestElicitationIsNotForOldRevisions(t *testing.T) {
	s := everywhere(quiet, elicitName)
	in(t, legacyRevisions[:2], func(t *testing.T, revision string) {
		speak(t, s, revision, everything).expectError("tools/call", `{"name":"t"}`, -32602,
			"elicitation")
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		m := speak(t, s, revision, `{"elicitation":7,"roots":[]}`).request("tools/call",
			`{"name":"t"}`)
		assert.Assert(t, m.Error != nil, m.raw)
	})
}

// A handler asks several questions, and later ones depend on earlier answers. The function of Once
// runs once.
func TestSeveralRounds(t *testing.T) {
	var runs, effects atomic.Int64
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		runs.Add(1)
		ticket, err := server.Once(ctx, "ticket",
			func(context.Context) (int64, error) { return effects.Add(1), nil })
		if err != nil {
			return "", err
		}
		one := func(key, message string) (string, error) {
			r, err := server.Elicit(ctx, key,
				mcp.ElicitParams{Message: message,
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"v":{"type":"string","default":"d"}}}`)})
			if err != nil {
				return "", fmt.Errorf("%s: %w", key, err)
			}
			var content struct{ V string }
			return content.V, json.Unmarshal(r.Content, &content)
		}
		if _, err := one("first", "1?"); err != nil {
			return "", err
		}
		second, err := one("second", "2?")
		if err != nil {
			return "", err
		}
		late, err := server.Once(ctx, "late", func(context.Context) (string, error) {
			return fmt.Sprint(effects.Add(1)), nil
		})
		if err != nil {
			return "", err
		}
		third, err := one("third", "3, after "+second+"?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s %s %s", ticket, late, second, third), nil
	})
	answer := func(v string) string { return `{"action":"accept","content":{"v":"` + v + `"}}` }
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
			runs.Store(0)
			effects.Store(0)
			k := speak(t, s, revision, everything)
			k.start(p.method, p.params)
			for _, v := range []string{"1", "two", "three"} {
				k.reply(k.next().expectMethod("elicitation/create", ""), answer(v))
			}
			k.next().expectText("1 2 two three")
			assert.Equal(t, runs.Load(), int64(1))
			assert.Equal(t, effects.Load(), int64(2))
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			runs.Store(0)
			effects.Store(0)
			k := speak(t, s, revision, everything)
			a := k.request(p.method, p.params).asks("first")
			b := k.again(p, a, `{"first":`+answer("1")+`}`).asks("second")
			// A missing answer is requested again. An answer to an answered question has no effect.
			b = k.again(p, b, `{}`).asks("second")
			b = k.again(p, b, `{"first":`+answer("no")+
				`,"ticket":{"x":1},"nobody":{}}`).asks("second")
			c := k.again(p, b, `{"second":`+answer("two")+`}`).asks("third")
			assert.Assert(t,
				strings.Contains(string(c.InputRequests["third"].Params), "3, after two?"))
			k.again(p, c, `{"third":`+answer("three")+`,"late":{}}`).expectText("1 2 two three")
			assert.Equal(t, runs.Load(), int64(6))
			assert.Equal(t, effects.Load(), int64(2))

			// Another client may continue: the state contains everything.
			k = speak(t, s, revision, everything)
			k.again(p, c, `{"third":`+answer("four")+`}`).expectText("1 2 two four")
			// With the same key, another request of the same kind starts again.
			k.request(p.method, p.params).asks("first")
		})
	})
}

func TestSeveralQuestionsAtOnce(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		e, err1 := elicitName(ctx)
		m, err2 := server.Sample(ctx, "model",
			mcp.CreateMessageParams{MaxTokens: 10, SystemPrompt: "Be brief.",
				Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser,
						Content: mcp.SamplingContent{
							&mcp.TextContent{Text: "Capital of France?"}}}}})
		r, err3 := server.Roots(ctx, "roots")
		if err := errors.Join(err1, err2, err3); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s; %s of %s; %d roots at %s", e, m.Content[0].(*mcp.TextContent).Text,
			m.Model, len(r), r[0].URI), nil
	})
	const (
		e    = `{"action":"accept","content":{"name":"A"}}`
		m    = `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m1","stopReason":"endTurn"}`
		r    = `{"roots":[{"uri":"file:///w","name":"w"}]}`
		want = `accept {"name":"A","n":3}; Paris of m1; 1 roots at file:///w`
	)
	inPlaces(t, func(t *testing.T, p place) {
		in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, everything)
			k.start(p.method, p.params)
			k.reply(k.next().expectMethod("elicitation/create", ""), e)
			k.reply(k.next().expectMethod("sampling/createMessage",
				`{"messages":[{"role":"user","content":{"type":"text","text":"Capital of France?"}}],"systemPrompt":"Be brief.","maxTokens":10}`),
				m)
			k.reply(k.next().expectMethod("roots/list", ""), r)
			k.next().expectText(want)
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, everything)
			a := k.request(p.method, p.params).asks("name", "model", "roots")
			k.again(p, a, fmt.Sprintf(`{"name":%s,"model":%s,"roots":%s}`, e, m, r)).expectText(want)
			a = k.again(p, a, `{"roots":`+r+`}`).asks("name", "model")
			a = k.again(p, a, `{"name":`+e+`}`).asks("model")
			k.again(p, a, `{"model":`+m+`}`).expectText(want)
			// A missing capability is reported when the other questions are answered, and not asked
			// for.
			k = speak(t, s, revision, `{"elicitation":{},"sampling":{}}`)
			a = k.request(p.method, p.params).asks("name", "model")
			k.again(p, a, `{"name":`+e+`,"model":`+m+`}`).fails(-32021, "roots")
		})
	})
}
