package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An answer is valid only for the question that was asked.
func TestChangedQuestionIsAskedAnew(t *testing.T) {
	var version atomic.Int64
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "k",
			mcp.ElicitParams{Message: fmt.Sprint("Version ", version.Load(), "?"),
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
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
		k.again(p, a, `{"k":{"action":"accept"}}`).expectText("accept 2")
	})
}

// If two questions have the same key, neither gets the other's answer, whatever their kinds.
func TestKeysThatCollide(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		n, err := server.Once(ctx, "k", func(context.Context) (map[string]string, error) {
			return map[string]string{"action": "accept"}, nil
		})
		if err != nil {
			return "", err
		}
		r, err := server.Elicit(ctx, "k",
			mcp.ElicitParams{Message: "m",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(n, r.Action), nil
	})
	k := speak(t, s, newest, everything)
	p := places["tool"]
	a := k.request(p.method, p.params).asks("k")
	// Once has used the key again: the request never ends, but no answer is confused with another
	k.again(p, a, `{"k":{"action":"decline"}}`).asks("k")
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
		_, err2 := server.Once(ctx, "nothing",
			func(context.Context) (struct{}, error) { return struct{}{}, nil })
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
	assert.Equal(t, runs, 2) // an error is not stored
	fail = false
	a = k.again(p, a, `{}`).asks("r")
	assert.Equal(t, runs, 3)
	k.again(p, a, `{"r":{"roots":[]}}`).expectText(`{9007199254740993 [<&>]} <nil> <nil>`)
	assert.Equal(t, runs, 3)

	s = everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Once(ctx, "v",
			func(context.Context) (func(), error) { return func() {}, nil })
		return fmt.Sprint(err), nil
	})
	m := speak(t, s, newest, everything).request(p.method, p.params)
	assert.Assert(t, strings.Contains(m.raw, `server: Once \"v\": `), m.raw)
}

// An operation that asks and must be confirmed runs twice in either era. Its client gets each
// question once, and the function of Once runs once.
func TestAskingBeforeAndAfterConfirmation(t *testing.T) {
	var effects atomic.Int64
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "wipe", Summary: "Wipe.", Type: dispatch.Write,
		Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, _ struct{}) (string, error) {
			n, err := server.Once(ctx, "n",
				func(context.Context) (int64, error) { return effects.Add(1), nil })
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
	const name, sure, roots, want = `{"action":"accept","content":{"name":"A"}}`,
		`{"action":"accept"}`, `{"roots":[]}`, `accept {"name":"A","n":3}1 0`
	p := place{method: "tools/call", params: `{"name":"wipe"}`}
	in(t, []string{"2025-06-18", "2025-11-25"}, func(t *testing.T, revision string) {
		effects.Store(0)
		k := speak(t, s, revision, everything)
		k.start(p.method, p.params)
		k.reply(k.next().expectMethod("elicitation/create", ""), name)
		m := k.next().expectMethod("elicitation/create", "")
		assert.Assert(t, strings.Contains(m.raw, "Sure?"), m.raw)
		k.reply(m, sure)
		k.reply(k.next().expectMethod("roots/list", ""), roots)
		k.next().expectText(want)
		assert.Equal(t, effects.Load(), int64(1))
	})
	effects.Store(0)
	k := speak(t, s, newest, everything)
	a := k.request(p.method, p.params).asks("name")
	a = k.again(p, a, `{"name":`+name+`}`).asks("confirm_operation")
	a = k.again(p, a, `{"confirm_operation":`+sure+`}`).asks("r")
	k.again(p, a, `{"r":`+roots+`}`).expectText(want)
	assert.Equal(t, effects.Load(), int64(1))
}

// A requestState is valid for one request of one principal, and for a limited time.
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
			k.again(p, a, answer).fails(-32602,
				"requestState was not made for this request, or has expired")
		}
		for name, p := range places {
			a := states[name]
			for other := range places {
				if other != name {
					wrong(p, states[other])
				}
			}
			for _, state := range []string{"", "x", flipped(a.RequestState),
				a.RequestState[:len(a.RequestState)-2], a.RequestState + "AA", a.RequestState + "=",
				strings.Repeat("A", 300<<10)} {
				wrong(p, asked{RequestState: state})
			}
			wrong(place{method: p.method, params: p.other}, a)
			wrong(place{method: p.method, params: strings.TrimSuffix(p.params, "}") +
				`,"extra":1}`}, a)
			k.request(p.method, strings.TrimSuffix(p.params, "}")+
				`,"requestState":7}`).fails(-32602, "requestState must be a string")
			k.request(p.method, strings.TrimSuffix(p.params, "}")+
				fmt.Sprintf(`,"inputResponses":[],"requestState":%q}`, a.RequestState)).fails(
				-32602, "inputResponses must be an object")
			k.again(place{method: p.method, params: p.same}, a,
				answer).expectText(`accept {"name":"A","n":3}`)
		}
		time.Sleep(14 * time.Minute)
		for name, p := range places {
			k.again(p, states[name], answer).expectText(`accept {"name":"A","n":3}`)
		}
		time.Sleep(2 * time.Minute)
		for name, p := range places {
			wrong(p, states[name])
		}
		// Another server has a different key.
		k = speak(t, everywhere(quiet, elicitName), newest, everything)
		wrong(places["tool"], states["tool"])
	})
}

func TestRequestStateIsBounded(t *testing.T) {
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		if _, err := server.Once(ctx, "big", func(context.Context) (string, error) {
			return strings.Repeat("x", 300<<10), nil
		}); err != nil {
			return "", err
		}
		return elicitName(ctx)
	})
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, newest, everything)
		k.expectError(p.method, p.params, -32603, "too large for requestState")
		k = speak(t, s, "2025-11-25", everything) // a legacy client, which carries no state
		k.reply(k.request(p.method, p.params).expectMethod("elicitation/create", ""), `{"action":"cancel"}`)
		k.next().expectText("cancel ")
	})
}

// A client may answer known questions in advance, but not a confirmation, which it must read first.
func TestAnswersBeforeTheQuestion(t *testing.T) {
	s := everywhere(quiet, elicitName)
	early := func(p place, answers string) place {
		return place{method: p.method, params: strings.TrimSuffix(p.params, "}") +
			`,"inputResponses":` + answers + `}`}
	}
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, newest, everything)
		now := early(p, `{"name":{"action":"accept","content":{"name":"A"}},"other":7}`)
		k.request(now.method, now.params).expectText(`accept {"name":"A","n":3}`)
		for _, answers := range []string{`{}`, `{"other":{}}`, `{"name":7}`,
			`{"name":{"action":"accept","content":{}}}`} {
			now = early(p, answers)
			k.request(now.method, now.params).asks("name")
		}
		now = early(p, `[]`)
		k.expectError(now.method, now.params, -32602, "inputResponses must be an object")
		// A client cannot answer a question in advance without the capability for it.
		now = early(p, `{"name":{"action":"accept","content":{"name":"A"}}}`)
		speak(t, s, newest, `{}`).expectError(now.method, now.params, -32021, "elicitation")
	})
	k := speak(t, quiet.New(server.Info{Name: "test", Version: "1.2"}, notes()), newest, everything)
	k.request("tools/call",
		`{"name":"note_delete","arguments":{"id":"7"},"inputResponses":{"confirm_operation":{"action":"accept"}}}`).asks(
		"confirm_operation")
	s = made(quiet, func(s *server.Server) {
		server.AddTool(s, mcp.Tool{Name: "t"}, func(ctx context.Context, _ struct{}) (string, error) {
			_, err := server.Elicit(ctx, "stdwire/policy", mcp.ElicitParams{Message: "May it?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			return "", err
		})
	})
	speak(t, s, newest, everything).request("tools/call",
		`{"name":"t","inputResponses":{"stdwire/policy":{"action":"accept","content":{}}}}`).asks(
		"stdwire/policy")
}
