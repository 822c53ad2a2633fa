package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A place is somewhere a handler runs that may ask its client: a request, the same written otherwise, and another one of its kind.
type place struct{ method, params, same, other string }

var places = map[string]place{
	"tool":      {"tools/call", `{"name":"t","arguments":{"a":[1,{"b":"c"}]}}`, `{"arguments" : {"a": [1, {"\u0062":"c"}]}, "n\u0061me":"t"}`, `{"name":"t","arguments":{"a":[1,{"b":"d"}]}}`},
	"operation": {"tools/call", `{"name":"op_run","arguments":{"a":[1,{"b":"c"}]}}`, `{ "name":"op\u005frun","arguments":{"a":[1,{"b" :"\u0063"}]}}`, `{"name":"op_run","arguments":{"a":[1.0,{"b":"c"}]}}`},
	"prompt":    {"prompts/get", `{"name":"p","arguments":{"a":"b"}}`, `{"arguments":{"a":"\u0062"},"name":"p"}`, `{"name":"p","arguments":{"a":"b","c":"d"}}`},
	"resource":  {"resources/read", `{"uri":"x:r"}`, `{"uri": "\u0078:r"}`, `{"uri":"t:r"}`},
	"template":  {"resources/read", `{"uri":"t:7"}`, `{"\u0075ri":"t:7"}`, `{"uri":"t:8"}`},
}

// everywhere returns a server that runs the handler in every place, and tells the text that it returns.
func everywhere(o server.Options, handler func(ctx context.Context) (string, error)) *server.Server {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "op.run", Summary: "Runs.", Kind: dispatch.Read, Errors: []dispatch.Code{dispatch.NotFound}},
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
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: said}}}}, err
	}
	read := func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
		said, err := handler(ctx)
		return text(uri, said), err
	}
	r := resource("x:r")
	r.Read = read
	template := echoes("t:{id}")
	template.Read = func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		return read(ctx, uri)
	}
	if err := errors.Join(s.AddTool(tool), s.AddPrompt(prompt), s.AddResource(r), s.AddResourceTemplate(template)); err != nil {
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

// told wants the handler to have come to its end with that text.
func (m message) told(want string) {
	m.t.Helper()
	encoded, err := mcp.Marshal(want)
	assert.NilError(m.t, err)
	escaped, err := mcp.Marshal(string(encoded)) // where an old revision has the envelope of an operation as text alone
	assert.NilError(m.t, err)
	assert.Assert(m.t, m.Result != nil && !strings.Contains(m.raw, `"input_required"`), m.raw)
	assert.Assert(m.t, strings.Contains(m.raw, string(encoded)) || strings.Contains(m.raw, strings.Trim(string(escaped), `"`)), "%s: %s", want, m.raw)
}

// asked is a result that asks the client.
type asked struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params json.RawMessage
	}
}

// asks wants a modern result that asks these questions, and no more.
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

// again sends a request once more, with answers.
func (k *talk) again(p place, a asked, answers string) message {
	k.t.Helper()
	return k.request(p.method, strings.TrimSuffix(p.params, "}")+fmt.Sprintf(`,"inputResponses":%s,"requestState":%q}`, answers, a.RequestState))
}

const (
	everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	nameForm   = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"n":{"type":"integer","default":3},"mail":{"type":"string","format":"email"}},"required":["name"]}`
)

// elicitName asks for a name, and tells what came of it.
func elicitName(ctx context.Context) (string, error) {
	r, err := server.Elicit(ctx, "name", mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(nameForm)})
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
				m := k.request(p.method, p.params).says("elicitation/create", question)
				k.reply(m, answer)
				k.next().told(want)
			}
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, `{"elicitation":{}}`)
			for answer, want := range answers {
				a := k.request(p.method, p.params).asks("name")
				assert.Equal(t, a.InputRequests["name"].Method, "elicitation/create")
				assert.Equal(t, string(a.InputRequests["name"].Params), question)
				k.again(p, a, `{"name":`+answer+`}`).told(want)
			}
		})
	})
}

// A client is asked nothing that it has not declared, and told what is missing.
func TestMissingCapabilities(t *testing.T) {
	var ask func(ctx context.Context) error
	s := everywhere(quiet, func(ctx context.Context) (string, error) { return "", fmt.Errorf("wrapped: %w", ask(ctx)) })
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
		want         string // as the data of the modern error
		text         string
		legacy       []string
	}{
		"no elicitation":   {elicit(form), `{}`, `{"elicitation":{"form":{}}}`, "elicitation", legacyRevisions},
		"no forms":         {elicit(form), `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`, "elicitation", legacyRevisions},
		"no URLs":          {elicit(url), `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, "elicitation", legacyRevisions},
		"too old":          {elicit(form), `{}`, `{"elicitation":{"form":{}}}`, "elicitation", legacyRevisions[:2]},
		"too old for URLs": {elicit(url), `{"elicitation":{"form":{}}}`, `{"elicitation":{"url":{}}}`, "elicitation", legacyRevisions[:3]},
		"no sampling":      {sample(mcp.CreateMessageParams{MaxTokens: 1}), `{"roots":{}}`, `{"sampling":{}}`, "sampling", legacyRevisions},
		"no tools":         {sample(mcp.CreateMessageParams{MaxTokens: 1, Tools: []*mcp.Tool{}}), `{"sampling":{}}`, `{"sampling":{"tools":{}}}`, "sampling.tools", legacyRevisions},
		"no choice":        {sample(mcp.CreateMessageParams{MaxTokens: 1, ToolChoice: &mcp.ToolChoice{}}), `{"sampling":{}}`, `{"sampling":{"tools":{}}}`, "sampling.tools", legacyRevisions},
		"no roots":         {func(ctx context.Context) error { _, err := server.Roots(ctx, "k"); return err }, `{"sampling":{}}`, `{"roots":{}}`, "roots", legacyRevisions},
	} {
		t.Run(name, func(t *testing.T) {
			ask = tc.ask
			inPlaces(t, func(t *testing.T, p place) {
				k := speak(t, s, newest, tc.capabilities)
				m := k.refuse(p.method, p.params, -32021, "does not declare the capability "+tc.text)
				assert.Equal(t, string(m.Error.Data), `{"requiredCapabilities":`+tc.want+`}`)
				in(t, tc.legacy, func(t *testing.T, revision string) {
					speak(t, s, revision, tc.capabilities).refuse(p.method, p.params, -32602, "does not declare the capability "+tc.text)
				})
			})
		})
	}
	// A handler may do without.
	s = everywhere(quiet, func(ctx context.Context) (string, error) {
		if _, err := elicitName(ctx); err == nil {
			return "", errors.New("asked")
		}
		return "without", nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		in(t, allRevisions, func(t *testing.T, revision string) {
			speak(t, s, revision, `{}`).request(p.method, p.params).told("without")
		})
	})
}

// Capabilities of an old revision are not what they would be today.
func TestElicitationIsNotForOldRevisions(t *testing.T) {
	s := everywhere(quiet, elicitName)
	in(t, legacyRevisions[:2], func(t *testing.T, revision string) {
		speak(t, s, revision, everything).refuse("tools/call", `{"name":"t"}`, -32602, "elicitation")
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		m := speak(t, s, revision, `{"elicitation":7,"roots":[]}`).request("tools/call", `{"name":"t"}`)
		assert.Assert(t, m.Error != nil, m.raw)
	})
}

// A handler asks, and depending on the answer asks on; what must happen once happens once.
func TestSeveralRounds(t *testing.T) {
	var runs, effects atomic.Int64
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		runs.Add(1)
		ticket, err := server.Once(ctx, "ticket", func(context.Context) (int64, error) { return effects.Add(1), nil })
		if err != nil {
			return "", err
		}
		one := func(key, message string) (string, error) {
			r, err := server.Elicit(ctx, key, mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"v":{"type":"string","default":"d"}}}`)})
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
		late, err := server.Once(ctx, "late", func(context.Context) (string, error) { return fmt.Sprint(effects.Add(1)), nil })
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
				k.reply(k.next().says("elicitation/create", ""), answer(v))
			}
			k.next().told("1 2 two three")
			assert.Equal(t, runs.Load(), int64(1))
			assert.Equal(t, effects.Load(), int64(2))
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			runs.Store(0)
			effects.Store(0)
			k := speak(t, s, revision, everything)
			a := k.request(p.method, p.params).asks("first")
			b := k.again(p, a, `{"first":`+answer("1")+`}`).asks("second")
			// An answer that is missing is asked for again, and one to what is settled changes nothing.
			b = k.again(p, b, `{}`).asks("second")
			b = k.again(p, b, `{"first":`+answer("no")+`,"ticket":{"x":1},"nobody":{}}`).asks("second")
			c := k.again(p, b, `{"second":`+answer("two")+`}`).asks("third")
			assert.Assert(t, strings.Contains(string(c.InputRequests["third"].Params), "3, after two?"))
			k.again(p, c, `{"third":`+answer("three")+`,"late":{}}`).told("1 2 two three")
			assert.Equal(t, runs.Load(), int64(6))
			assert.Equal(t, effects.Load(), int64(2))

			// Another client may carry on; the state is all there is.
			k = speak(t, s, revision, everything)
			k.again(p, c, `{"third":`+answer("four")+`}`).told("1 2 two four")
			// The same key for another request of the same kind begins anew.
			k.request(p.method, p.params).asks("first")
		})
	})
}

func TestSeveralQuestionsAtOnce(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		e, err1 := elicitName(ctx)
		m, err2 := server.Sample(ctx, "model", mcp.CreateMessageParams{MaxTokens: 10, SystemPrompt: "Be brief.", Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.SamplingContent{&mcp.TextContent{Text: "Capital of France?"}}}}})
		r, err3 := server.Roots(ctx, "roots")
		if err := errors.Join(err1, err2, err3); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s; %s of %s; %d roots at %s", e, m.Content[0].(*mcp.TextContent).Text, m.Model, len(r), r[0].URI), nil
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
			k.reply(k.next().says("elicitation/create", ""), e)
			k.reply(k.next().says("sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"Capital of France?"}}],"systemPrompt":"Be brief.","maxTokens":10}`), m)
			k.reply(k.next().says("roots/list", ""), r)
			k.next().told(want)
		})
		in(t, []string{newest}, func(t *testing.T, revision string) {
			k := speak(t, s, revision, everything)
			a := k.request(p.method, p.params).asks("name", "model", "roots")
			k.again(p, a, fmt.Sprintf(`{"name":%s,"model":%s,"roots":%s}`, e, m, r)).told(want)
			a = k.again(p, a, `{"roots":`+r+`}`).asks("name", "model")
			a = k.again(p, a, `{"name":`+e+`}`).asks("model")
			k.again(p, a, `{"model":`+m+`}`).told(want)
			// What the client cannot do is told when all else is settled, and not asked.
			k = speak(t, s, revision, `{"elicitation":{},"sampling":{}}`)
			a = k.request(p.method, p.params).asks("name", "model")
			k.again(p, a, `{"name":`+e+`,"model":`+m+`}`).fails(-32021, "roots")
		})
	})
}

// An answer belongs to the question that was asked.
func TestChangedQuestionIsAskedAnew(t *testing.T) {
	var version atomic.Int64
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "k", mcp.ElicitParams{Message: fmt.Sprint("Version ", version.Load(), "?"), RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.Action, " ", version.Load()), nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		version.Store(1)
		k := speak(t, s, newest, everything)
		a := k.request(p.method, p.params).asks("k")
		version.Store(2)
		a = k.again(p, a, `{"k":{"action":"accept"}}`).asks("k")
		assert.Assert(t, strings.Contains(string(a.InputRequests["k"].Params), "Version 2?"))
		k.again(p, a, `{"k":{"action":"accept"}}`).told("accept 2")
	})
}

// The same key for two questions, of one kind or another, never gives one the answer to the other.
func TestKeysThatCollide(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		n, err := server.Once(ctx, "k", func(context.Context) (map[string]string, error) { return map[string]string{"action": "accept"}, nil })
		if err != nil {
			return "", err
		}
		r, err := server.Elicit(ctx, "k", mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(n, r.Action), nil
	})
	k := speak(t, s, newest, everything)
	p := places["tool"]
	a := k.request(p.method, p.params).asks("k")
	k.again(p, a, `{"k":{"action":"decline"}}`).asks("k") // Once has taken the key again: it never ends, but nothing is mistaken
}

// What is no answer counts for nothing: a modern client is asked again, a legacy one's request fails.
func TestAnswersThatAreNone(t *testing.T) {
	type none struct {
		ask     func(ctx context.Context) (string, error)
		key     string
		answers []string
	}
	for name, tc := range map[string]none{
		"form": {elicitName, "name", []string{
			`{}`, `{"action":"maybe"}`, `{"action":7}`, `{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":{"name":""}}`,
			`{"action":"accept","content":{"name":7}}`, `{"action":"accept","content":{"name":"A","n":1.5}}`, `{"action":"accept","content":{"name":"A","mail":"nobody"}}`,
			`{"action":"accept","content":[]}`, `{"action":"accept","content":"A"}`, `{"Action":"accept","content":{"name":"A"}}`, `{"action":"accept","content":{"name":"A","name":"B"}}`,
		}},
		"sampling": {func(ctx context.Context) (string, error) {
			m, err := server.Sample(ctx, "s", mcp.CreateMessageParams{MaxTokens: 1})
			if err != nil {
				return "", err
			}
			return m.Content[0].Type(), nil
		}, "s", []string{`{}`, `{"role":"assistant","model":"m"}`, `{"role":"assistant","content":[],"model":"m"}`, `{"content":{"type":"text","text":"t"},"model":"m"}`,
			`{"role":"assistant","content":"t","model":"m"}`, `{"role":"assistant","content":{},"model":"m"}`, `{"role":"assistant","content":[null],"model":"m"}`}},
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
						assert.Assert(t, strings.Contains(m.raw, `"code":"internal_error"`), "%s: %s", answer, m.raw)
						continue
					}
					m.fails(-32603, "Internal error")
				}
			}
			for _, answer := range []string{`null`, `7`, `"x"`, `[]`} {
				p := places["prompt"]
				a := k.request(p.method, p.params).asks(tc.key)
				k.again(p, a, fmt.Sprintf(`{%q:%s}`, tc.key, answer)).fails(-32602, "must be an object")
				legacy.reply(legacy.request(p.method, p.params), answer)
				legacy.next().fails(-32603, "Internal error")
			}
			legacy.silent()
		})
	}
}

// A legacy client that refuses to ask has said so itself: its error is the request's.
func TestLegacyClientAnswersWithAnError(t *testing.T) {
	s := everywhere(quiet, elicitName)
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-11-25", everything)
		m := k.request(p.method, p.params)
		k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"the user is not there"}}`, m.ID))
		if p == places["operation"] {
			assert.Assert(t, strings.Contains(k.next().raw, `"code":"internal_error"`))
			return
		}
		k.next().fails(-1, "the user is not there")
	})
}

// Answers that nobody waits for, or that are no messages, do no harm to a question that is open.
func TestLegacyClientAnswersNonsense(t *testing.T) {
	s := everywhere(quiet, elicitName)
	k := speak(t, s, "2025-11-25", everything)
	k.check = nil // the refusals have no id
	p := places["tool"]
	m := k.request(p.method, p.params)
	k.write(`{"jsonrpc":"2.0","id":"no such","result":{"action":"accept","content":{"name":"evil"}}}`)
	k.write(`{"jsonrpc":"2.0","id":null,"result":{}}`)
	k.write(`{"jsonrpc":"2.0","method":"elicitation/create"}`)
	k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"A"}}}`, m.ID))
	for m = k.next(); m.Result == nil; m = k.next() {
		assert.Assert(t, m.Error != nil, m.raw)
	}
	m.told(`accept {"name":"A","n":3}`)
	k.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"late"}}}`, m.ID))
	k.silent()
}

func TestElicitURL(t *testing.T) {
	id := ""
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "u", mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Pay.", URL: "https://example.com/pay?x=1", ElicitationID: id, RequestedSchema: json.RawMessage(`{`)})
		if err != nil {
			return "", err
		}
		return string(r.Action) + string(r.Content), nil
	})
	for _, id = range []string{"", "mine"} {
		inPlaces(t, func(t *testing.T, p place) {
			k := speak(t, s, newest, everything)
			a := k.request(p.method, p.params).asks("u")
			assert.Equal(t, string(a.InputRequests["u"].Params), `{"mode":"url","message":"Pay.","url":"https://example.com/pay?x=1"}`)
			k.again(p, a, `{"u":{"action":"accept"}}`).told("accept")

			k = speak(t, s, "2025-11-25", everything)
			m := k.request(p.method, p.params).says("elicitation/create", "")
			var params mcp.ElicitParams
			assert.NilError(t, mcp.Unmarshal(m.Params, &params))
			assert.Assert(t, params.ElicitationID != "" && (id == "" || params.ElicitationID == id) && params.RequestedSchema == nil, m.raw)
			k.reply(m, `{"action":"accept"}`)
			k.next().told("accept")
			speak(t, s, "2025-06-18", everything).refuse(p.method, p.params, -32602, "elicitation")
		})
	}
}

// Forms that the specification does not allow are the handler's mistake, and reach no client.
func TestFormsThatAreNone(t *testing.T) {
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
		`{"type":"object"}`:                "say its properties",
		`{"type":"array","properties":{}}`: "of type object",
		`{"properties":{}}`:                "of type object",
		`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`:                    `"a" is neither a plain value nor a choice`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{}}}`:                             `"a" is neither`,
		`{"type":"object","properties":{"a":{"type":"null"}}}`:                                      `"a" is neither`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`:           `"a" is neither`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                     `"a" is neither`,
		`{"type":"object","properties":{"a":{"type":"string","format":"hostname"}}}`:                `the format is none of`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`: `"a" is neither`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:                           `schema of the form`,
		`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"string"}}}`:              `schema of the form`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`:                     `schema of the form`,
	} {
		params = mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(form)}
		for _, revision := range []string{"2025-06-18", "2025-11-25", newest} {
			speak(t, s, revision, everything).request("tools/call", `{"name":"t"}`).told("handled")
			assert.ErrorContains(t, got, want, form)
			assert.ErrorContains(t, got, `server: Elicit "k"`)
		}
	}
	for want, p := range map[string]mcp.ElicitParams{"there is no URL": {Mode: mcp.ElicitURL, Message: "m"}, `the mode "voice"`: {Mode: "voice", Message: "m", RequestedSchema: json.RawMessage(nameForm)}} {
		params = p
		speak(t, s, newest, everything).request("tools/call", `{"name":"t"}`).told("handled")
		assert.ErrorContains(t, got, want)
	}
	// All that it does allow, for revisions that have it.
	params = mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "m", RequestedSchema: json.RawMessage(`{"type":"object","properties":{
		"s":{"type":"string","title":"S","minLength":1,"maxLength":10,"format":"date","default":"2026-01-01"},"n":{"type":"number","minimum":0.5},"i":{"type":"integer"},"b":{"type":"boolean","default":true},
		"e":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"o":{"type":"string","oneOf":[{"const":"a","title":"A"}]},
		"m":{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]}},"t":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}},"required":["i"]}`)}
	k := speak(t, s, newest, everything)
	k.request("tools/call", `{"name":"t"}`).told("handled") // it did not give the error back
	k = speak(t, s, "2025-11-25", everything)
	k.reply(k.request("tools/call", `{"name":"t"}`).says("elicitation/create", ""), `{"action":"accept","content":{"i":1,"m":["a"]}}`)
	k.next().told("handled")
	assert.NilError(t, got)
	speak(t, s, "2025-06-18", everything).request("tools/call", `{"name":"t"}`).told("handled")
	assert.ErrorContains(t, got, `which revision 2025-06-18 does not have`)
}

func TestAskingOutsideOfARequest(t *testing.T) {
	check := func(ctx context.Context) {
		t.Helper()
		_, err := elicitName(ctx)
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Sample(ctx, "k", mcp.CreateMessageParams{})
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Roots(ctx, "k")
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Once(ctx, "k", func(context.Context) (int, error) { panic("it ran") })
		assert.ErrorIs(t, err, server.ErrNoRequest)
	}
	check(t.Context())
	o := quiet
	o.Middleware = []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			check(ctx)
			return next(ctx, req)
		}
	}}
	o.Visible = func(ctx context.Context, _ server.Kind, key string) bool {
		if key != "p" { // a list is no request to ask in
			check(ctx)
		}
		return true
	}
	speak(t, made(o, func(s *server.Server) { must(t, s.AddResource(resource("x:1"))) }), newest, everything).request("resources/list", "")

	// One key is the server's own.
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Roots(ctx, "confirm_operation")
		return fmt.Sprint(err), nil
	})
	speak(t, s, newest, everything).request("tools/call", `{"name":"t"}`).told(`server: the key "confirm_operation" is taken, by the question whether a call is confirmed; use another`)
}

func TestOnce(t *testing.T) {
	fail := true
	var runs int
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		type kept struct {
			N int64
			S []string
		}
		v, err1 := server.Once(ctx, "v", func(context.Context) (kept, error) {
			runs++
			if fail {
				return kept{}, errors.New("not yet")
			}
			return kept{1<<53 + 1, []string{"<&>"}}, nil
		})
		_, err2 := server.Once(ctx, "nothing", func(context.Context) (struct{}, error) { return struct{}{}, nil })
		p, err3 := server.Once(ctx, "nil", func(context.Context) (*kept, error) { return nil, nil })
		_, err4 := server.Roots(ctx, "r")
		if err := errors.Join(err2, err3, err4); err != nil {
			return "", err
		}
		return fmt.Sprint(v, p, err1), nil
	})
	p := places["tool"]
	k := speak(t, s, newest, everything)
	a := k.request(p.method, p.params).asks("r")
	a = k.again(p, a, `{}`).asks("r")
	assert.Equal(t, runs, 2) // an error is not kept
	fail = false
	a = k.again(p, a, `{}`).asks("r")
	assert.Equal(t, runs, 3)
	k.again(p, a, `{"r":{"roots":[]}}`).told(`{9007199254740993 [<&>]} <nil> <nil>`)
	assert.Equal(t, runs, 3)

	s = everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Once(ctx, "v", func(context.Context) (func(), error) { return func() {}, nil })
		return fmt.Sprint(err), nil
	})
	m := speak(t, s, newest, everything).request(p.method, p.params)
	assert.Assert(t, strings.Contains(m.raw, `server: Once \"v\": `), m.raw)
}

// An operation that asks and has to be confirmed runs twice in either era. Its client is asked each question once, and what must happen once does.
func TestAskingBeforeAndAfterConfirmation(t *testing.T) {
	var effects atomic.Int64
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "wipe", Summary: "Wipe.", Kind: dispatch.Write, Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, _ struct{}) (string, error) {
			n, err := server.Once(ctx, "n", func(context.Context) (int64, error) { return effects.Add(1), nil })
			if err != nil {
				return "", err
			}
			name, err := elicitName(ctx)
			if err != nil {
				return "", err
			}
			if err := dispatch.Confirm(ctx, "Sure?"); err != nil {
				return "", err
			}
			roots, err := server.Roots(ctx, "r")
			return fmt.Sprint(name, n, len(roots)), err
		})
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, c)
	const name, sure, roots, want = `{"action":"accept","content":{"name":"A"}}`, `{"action":"accept"}`, `{"roots":[]}`, `accept {"name":"A","n":3}1 0`
	p := place{method: "tools/call", params: `{"name":"wipe"}`}
	in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
		effects.Store(0)
		k := speak(t, s, revision, everything)
		k.start(p.method, p.params)
		k.reply(k.next().says("elicitation/create", ""), name)
		m := k.next().says("elicitation/create", "")
		assert.Assert(t, strings.Contains(m.raw, "Sure?"), m.raw)
		k.reply(m, sure)
		k.reply(k.next().says("roots/list", ""), roots)
		k.next().told(want)
		assert.Equal(t, effects.Load(), int64(1))
	})
	effects.Store(0)
	k := speak(t, s, newest, everything)
	a := k.request(p.method, p.params).asks("name")
	a = k.again(p, a, `{"name":`+name+`}`).asks("confirm_operation")
	a = k.again(p, a, `{"confirm_operation":`+sure+`}`).asks("r")
	k.again(p, a, `{"r":`+roots+`}`).told(want)
	assert.Equal(t, effects.Load(), int64(1))
}

// A state is good for the request that it was given for, made by whom it was given to, for a while.
func TestRequestStateIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everywhere(quiet, elicitName)
		k := speak(t, s, newest, everything)
		const answer = `{"name":{"action":"accept","content":{"name":"A"}}}`
		states := map[string]asked{}
		for name, p := range places {
			states[name] = k.request(p.method, p.params).asks("name")
		}
		wrong := func(p place, a asked) {
			t.Helper()
			k.again(p, a, answer).fails(-32602, "requestState is none of this server's for this request, or too old")
		}
		for name, p := range places {
			a := states[name]
			for other := range places {
				if other != name {
					wrong(p, states[other])
				}
			}
			for _, state := range []string{"", "x", flipped(a.RequestState), a.RequestState[:len(a.RequestState)-2], a.RequestState + "AA", a.RequestState + "=", strings.Repeat("A", 300<<10)} {
				wrong(p, asked{RequestState: state})
			}
			wrong(place{method: p.method, params: p.other}, a)
			wrong(place{method: p.method, params: strings.TrimSuffix(p.params, "}") + `,"extra":1}`}, a)
			k.request(p.method, strings.TrimSuffix(p.params, "}")+`,"requestState":7}`).fails(-32602, "requestState must be a string")
			k.request(p.method, strings.TrimSuffix(p.params, "}")+fmt.Sprintf(`,"inputResponses":[],"requestState":%q}`, a.RequestState)).fails(-32602, "inputResponses must be an object")
			k.again(place{method: p.method, params: p.same}, a, answer).told(`accept {"name":"A","n":3}`)
		}
		time.Sleep(14 * time.Minute)
		for name, p := range places {
			k.again(p, states[name], answer).told(`accept {"name":"A","n":3}`)
		}
		time.Sleep(2 * time.Minute)
		for name, p := range places {
			wrong(p, states[name])
		}
		// Another server has another key.
		k = speak(t, everywhere(quiet, elicitName), newest, everything)
		wrong(places["tool"], states["tool"])
	})
}

func TestRequestStateIsBounded(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		if _, err := server.Once(ctx, "big", func(context.Context) (string, error) { return strings.Repeat("x", 300<<10), nil }); err != nil {
			return "", err
		}
		return elicitName(ctx)
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, newest, everything)
		k.refuse(p.method, p.params, -32603, "too large to be carried along")
		k = speak(t, s, "2025-11-25", everything) // which carries nothing
		k.reply(k.request(p.method, p.params).says("elicitation/create", ""), `{"action":"cancel"}`)
		k.next().told("cancel ")
	})
}

// A client that takes its request back while it is being asked is not asked any more, and the handler learns why.
func TestRequestIsCancelledWhileItsClientIsAsked(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		ended := make(chan error, 1)
		var log bytes.Buffer
		s := everywhere(server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(ctx context.Context) (string, error) {
			_, err := elicitName(ctx)
			ended <- errors.Join(err, context.Cause(ctx))
			return "", err
		})
		k := speak(t, s, "2025-11-25", everything)
		question := k.request(p.method, p.params).says("elicitation/create", "")
		k.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, k.id))
		m := k.next().says("notifications/cancelled", "")
		assert.Assert(t, strings.Contains(m.raw, `"requestId":`+string(question.ID)), m.raw)
		err := <-ended
		assert.ErrorIs(t, err, rpc.ErrCancelled)
		k.reply(question, `{"action":"accept","content":{"name":"late"}}`)
		k.silent()
		k.stream.Close()
		<-k.ended
		k.ended <- nil
		assert.Equal(t, log.String(), "") // nothing went wrong
	})
}

// A client that hangs up while it is being asked leaves no handler waiting.
func TestClientHangsUpWhileItIsAsked(t *testing.T) {
	ended := make(chan error, 1)
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := elicitName(ctx)
		ended <- err
		return "", err
	})
	k := speak(t, s, "2025-11-25", everything)
	k.request("tools/call", `{"name":"t"}`).says("elicitation/create", "")
	k.stream.Close()
	assert.ErrorIs(t, <-ended, rpc.ErrClosed)
}

// A handler that is to be asked again is no failure, and not logged as one.
func TestAskingIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := everywhere(server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, elicitName)
	inPlaces(t, func(t *testing.T, p place) {
		speak(t, s, newest, everything).request(p.method, p.params).asks("name")
		speak(t, s, newest, `{}`).refuse(p.method, p.params, -32021, "elicitation")
		speak(t, s, "2025-11-25", `{}`).refuse(p.method, p.params, -32602, "elicitation")
	})
	assert.Equal(t, log.String(), "")
}

// A handler that does without an answer has its own result.
func TestHandlerNeedNotAsk(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := elicitName(ctx)
		return fmt.Sprint("fine: ", err), nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		speak(t, s, newest, everything).request(p.method, p.params).told("fine: server: the client has not answered yet; return this error from the handler, which runs again with the answer")
	})
}

// A client that knows what it will be asked may answer at once. What has to be confirmed it must have been told first.
func TestAnswersBeforeTheQuestion(t *testing.T) {
	s := everywhere(quiet, elicitName)
	early := func(p place, answers string) place {
		return place{method: p.method, params: strings.TrimSuffix(p.params, "}") + `,"inputResponses":` + answers + `}`}
	}
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, newest, everything)
		now := early(p, `{"name":{"action":"accept","content":{"name":"A"}},"other":7}`)
		k.request(now.method, now.params).told(`accept {"name":"A","n":3}`)
		for _, answers := range []string{`{}`, `{"other":{}}`, `{"name":7}`, `{"name":{"action":"accept","content":{}}}`} {
			now = early(p, answers)
			k.request(now.method, now.params).asks("name")
		}
		now = early(p, `[]`)
		k.refuse(now.method, now.params, -32602, "inputResponses must be an object")
		// What the client cannot do it cannot answer either.
		now = early(p, `{"name":{"action":"accept","content":{"name":"A"}}}`)
		speak(t, s, newest, `{}`).refuse(now.method, now.params, -32021, "elicitation")
	})
	k := speak(t, quiet.New(server.Info{Name: "test", Version: "1.2"}, notes()), newest, everything)
	k.request("tools/call", `{"name":"note_delete","arguments":{"id":"7"},"inputResponses":{"confirm_operation":{"action":"accept"}}}`).asks("confirm_operation")
}
