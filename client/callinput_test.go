package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// wants returns the result of a server that requests input. questions are its members, state is the
// encoded requestState.
func wants(questions, state string) string {
	result := `{"resultType":"input_required"`
	if questions != "" {
		result += `,"inputRequests":{` + questions + `}`
	}
	if state != "" {
		result += `,"requestState":` + state
	}
	return result + `}`
}

func elicitation(key, form string) string {
	return fmt.Sprintf(
		`%q:{"method":"elicitation/create","params":{"message":"?","requestedSchema":%s}}`, key,
		form)
}

const done = `{"resultType":"complete","content":[]}`

// asker answers calls with the results in turn, repeats the last one, and records the calls.
func asker(calls *[]message, results ...string) func(*scripted) {
	return func(s *scripted) {
		s.modern()
		for m := s.read(); m.line != ""; m = s.read() {
			if m.Method != mcp.MethodCallTool {
				continue
			}
			*calls = append(*calls, m)
			s.reply(m, results[min(len(*calls), len(results))-1])
		}
	}
}

// The repeated request differs only in its id. It returns the state byte by byte, and the answers
// under the keys of the questions.
func TestRounds(t *testing.T) {
	big := `"` + pad(1<<20) + `"`
	const strange = `"\u00e5\/ \ud83d\ude00 \u0000"`
	var calls []message
	c := connect(t, Options{OnElicit: accept(`{"name":"Ada"}`), Roots: []mcp.Root{}}, asker(&calls,
		wants(elicitation("a", nameForm)+`,"b \"c\"":{"method":"roots/list"}`, strange),
		wants(elicitation("d", nameForm), "null"), wants("", big), wants("", `""`), done))
	_, err := c.CallTool(t.Context(), "t", map[string]int{"x": 1},
		Meta(mcp.Meta{"com.example/x": []byte(`"y"`)}))
	assert.NilError(t, err)
	assert.NilError(t, c.Close())
	ids := map[string]bool{}
	const arguments = `{"name":"t","arguments":{"x":1}`
	for i, want := range []string{
		``,
		`,"inputResponses":{"a":{"action":"accept","content":{"name":"Ada","size":"M"}},"b \"c\"":{"roots":[]}},"requestState":` +
			strange,
		`,"inputResponses":{"d":{"action":"accept","content":{"name":"Ada","size":"M"}}}`,
		`,"requestState":` + big,
		`,"requestState":""`,
	} {
		params := string(calls[i].Params)
		assert.Assert(t, strings.HasPrefix(params, arguments+want+`,"_meta":{`), "%d: %.300s", i,
			params)
		assert.Assert(t, strings.HasSuffix(params, `,"com.example/x":"y"}}`))
		ids[string(calls[i].ID)] = true
	}
	assert.Equal(t, len(calls), 5)
	assert.Equal(t, len(ids), 5)
}

func TestRoundsWithoutEnd(t *testing.T) {
	for name, result := range map[string]string{
		"questions": wants(elicitation("a", nameForm), `"s"`), "only a state": wants("", `"s"`)} {
		t.Run(name, func(t *testing.T) {
			var calls []message
			c := connect(t, Options{OnElicit: accept(`{"name":"Ada"}`)}, asker(&calls, result))
			_, err := c.CallTool(t.Context(), "t", nil)
			rounds, ok := errors.AsType[*roundsError](err)
			assert.Assert(t, ok, "%v", err)
			assert.ErrorIs(t, err, ErrRounds)
			assert.Equal(t, rounds.rounds, 10)
			assert.Equal(t, string(rounds.last.(*InputRequiredError).Raw), result)
			assert.ErrorContains(t, err,
				`server "server": tool "t": the server has been answered 10 times and still gives no result`)
			assert.NilError(t, c.Close())
			assert.Equal(t, len(calls), 11)
		})
	}
}

// A client that cannot answer all questions, or has ReturnInputRequests, runs no callback and
// returns the questions.
func TestInputRequired(t *testing.T) {
	for name, test := range map[string]struct {
		options []CallOption
		method  string
		result  string
	}{
		"an unknown method": {nil, "tools/call",
			wants(elicitation("a", nameForm)+`,"b":{"method":"elicitation/dream"}`, "")},
		"no callback": {nil, "tools/call",
			wants(elicitation("a", nameForm)+`,"b":{"method":"sampling/createMessage"}`, "")},
		"by hand": {[]CallOption{ReturnInputRequests()}, "tools/call",
			wants(elicitation("a", nameForm), `"s"`)},
		"not there": {nil, "tools/list", wants(elicitation("a", nameForm), `"s"`)},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			o := Options{OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
				error) {
				t.Error("asked")
				return nil, nil
			}}
			c := connect(t, o, func(s *scripted) {
				s.modern()
				for m := s.read(); m.line != ""; m = s.read() {
					calls++
					s.reply(m, test.result)
				}
			})
			_, err := c.Call(t.Context(), test.method, nil, test.options...)
			asked, ok := errors.AsType[*InputRequiredError](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, string(asked.Raw), test.result)
			assert.NilError(t, c.Close())
			assert.Equal(t, calls, 1)
		})
	}
}

// A question that cannot be answered is the error of the call, with the key of the question, and
// the call is not sent again.
func TestUnanswered(t *testing.T) {
	boom := errors.New("boom")
	fails := func(r *mcp.ElicitResult, err error) Options {
		return Options{OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
			error) {
			return r, err
		}}
	}
	accepts := func(content string) Options { return Options{OnElicit: accept(content)} }
	samples := func(r *mcp.CreateMessageResult) Options {
		return Options{OnSample: func(context.Context,
			mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return r, nil
		}}
	}
	const model = `"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1`
	for name, test := range map[string]struct {
		o        Options
		question string
		want     string
		is       error
	}{
		"fails": {fails(nil, boom), elicitation("a", nameForm), "boom", boom},
		"nothing": {fails(nil, nil), elicitation("a", nameForm),
			"Options.OnElicit returned neither a result nor an error", nil},
		"no action": {fails(&mcp.ElicitResult{Action: "maybe"}, nil), elicitation("a", nameForm),
			`the result of Options.OnElicit: "maybe" is not an elicitation action`, nil},
		"no content": {accepts(``), elicitation("a", nameForm),
			`the result of Options.OnElicit: content: missing required property "name"`, nil},
		"does not fit": {accepts(`{"name":"A","size":"XL"}`), elicitation("a", nameForm),
			`the result of Options.OnElicit: content: size must be "S" or "M", not "XL"`, nil},
		"no JSON": {accepts(`{"name":`), elicitation("a", nameForm),
			"the result of Options.OnElicit: content: ", nil},
		"no form": {accepts(`{}`),
			`"a":{"method":"elicitation/create","params":{"message":"?"}}`,
			"requestedSchema: it is missing", rpc.ErrProtocol},
		"a form that is none": {accepts(`{}`), elicitation("a", `{"type":"string"}`),
			"requestedSchema: it must be of type object", rpc.ErrProtocol},
		"a form that is wrong": {accepts(`{}`),
			elicitation("a", `{"type":"object","properties":{"x":{"type":"strnig"}}}`),
			"requestedSchema: ", rpc.ErrProtocol},
		"a form that is not flat": {accepts(`{}`), elicitation("a",
			`{"type":"object","properties":{"x":{"type":"array","minItems":20,"items":{"$ref":"#"}}}}`),
			"requestedSchema: \"x\": $ref is not allowed in a form", rpc.ErrProtocol},
		"a mode not declared": {accepts(`{}`),
			`"a":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://x"}}`,
			`this client does not elicit in the mode "url"`, rpc.ErrProtocol},
		"no params": {accepts(`{}`), `"a":{"method":"elicitation/create"}`, "",
			rpc.ErrProtocol},
		"no message": {samples(&mcp.CreateMessageResult{Role: "assistant", Model: "m"}),
			model + `}}`, "the result of Options.OnSample has no role or no content", nil},
		"tools not declared": {samples(nil), model + `,"tools":[]}}`,
			"this client does not let the model use tools", rpc.ErrProtocol},
		"no messages": {samples(nil),
			`"a":{"method":"sampling/createMessage","params":{"messages":7}}`,
			"messages: want an array, not a number", rpc.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []message
			c := connect(t, test.o, asker(&calls, wants(test.question, ""), done))
			_, err := c.CallTool(t.Context(), "t", nil)
			q, ok := errors.AsType[*QuestionError](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, q.Key, "a")
			assert.ErrorContains(t, err, `server "server": tool "t": the server's question "a" (`+
				q.Method+") was not answered: "+test.want)
			if test.is != nil {
				assert.ErrorIs(t, err, test.is)
			}
			assert.NilError(t, c.Close())
			assert.Equal(t, len(calls), 1)
		})
	}
}

func TestCallbackPanics(t *testing.T) {
	var log bytes.Buffer
	var calls []message
	o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			panic("boom")
		}}
	c := connect(t, o, asker(&calls, wants(elicitation("a", nameForm), "")))
	_, err := c.CallTool(t.Context(), "t", nil)
	p, ok := errors.AsType[*rpc.PanicError](err)
	assert.Assert(t, ok && p.Value == "boom", "%v", err)
	assert.Assert(t, strings.Contains(log.String(), "callback=OnElicit panic=boom"))
}

func TestCallbackEndsItsGoroutine(t *testing.T) {
	var calls []message
	o := Options{OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
		error) {
		runtime.Goexit()
		return nil, nil
	}}
	c := connect(t, o, asker(&calls, wants(elicitation("a", nameForm), "")))
	_, err := c.CallTool(t.Context(), "t", nil)
	assert.ErrorContains(t, err, "a callback has ended its goroutine")
}

// A blocked callback is cancelled when the call ends for any reason. The call returns that reason,
// and not the error of the callback. If one callback fails, the others are cancelled too.
func TestCallbackHangs(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		end   func(cancel func(), c *Client, s *scripted)
		after time.Duration
		want  string
		is    error
	}{
		"ctx": {func(cancel func(), _ *Client, _ *scripted) { cancel() }, time.Second,
			"context canceled after 1s", context.Canceled},
		"close": {func(_ func(), c *Client, _ *scripted) { c.Close() }, time.Second,
			"the client is closed", rpc.ErrClosed},
		"hang up": {func(_ func(), _ *Client, s *scripted) { s.out.Close() }, time.Second,
			"closed the connection", rpc.ErrClosed},
		"timeout": {func(func(), *Client, *scripted) {}, 7 * time.Second,
			"no answer to the server's questions after 7s; the server last sent something 7s ago",
			context.DeadlineExceeded},
		"neighbour": {nil, time.Second,
			`the server's question "bad" (elicitation/create) was not answered: boom`, boom},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []message
				var server *scripted
				var cancelled atomic.Bool
				script := asker(&calls,
					wants(elicitation("a", nameForm)+`,`+
						strings.Replace(elicitation("bad", nameForm), "?", "bad", 1), ""), done)
				o := Options{CallTimeout: 7 * time.Second,
					OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult,
						error) {
						if p.Message == "bad" && test.end == nil {
							time.Sleep(time.Second)
							return nil, boom
						}
						if _, ok := ctx.Deadline(); !ok {
							t.Error("no deadline")
						}
						<-ctx.Done()
						cancelled.Store(true)
						return nil, ctx.Err()
					}}
				c, err := o.Connect(t.Context(),
					stream(func(s *scripted) { server = s; script(s) }))
				assert.NilError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.end != nil {
					time.AfterFunc(time.Second, func() { test.end(cancel, c, server) })
				}
				began := time.Now()
				_, err = c.CallTool(ctx, "t", nil)
				assert.Error(t, err, `server "server": tool "t": `+test.want)
				assert.ErrorIs(t, err, test.is)
				assert.Equal(t, time.Since(began), test.after)
				assert.Assert(t, cancelled.Load())
				assert.NilError(t, c.Close())
				_ = c.Wait()
				assert.Equal(t, len(calls), 1)
			})
		})
	}
}

// However many questions there are, a limited number is open at the same time.
func TestManyQuestions(t *testing.T) {
	var open, most atomic.Int32
	questions := make([]string, 500)
	for i := range questions {
		questions[i] = elicitation(fmt.Sprint("q", i), nameForm)
	}
	var calls []message
	o := Options{OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult,
		error) {
		if now := open.Add(1); now > most.Load() {
			most.Store(now)
		}
		defer open.Add(-1)
		runtime.Gosched()
		return accept(`{"name":"Ada"}`)(ctx, p)
	}}
	c := connect(t, o, asker(&calls, wants(strings.Join(questions, ","), ""), done))
	_, err := c.CallTool(t.Context(), "t", nil)
	assert.NilError(t, err)
	assert.Assert(t, most.Load() <= maxAsking, most.Load())
	assert.NilError(t, c.Close())
	assert.Equal(t, strings.Count(calls[1].line, `"action":"accept"`), 500)
}

// Progress extends a call in any round. The time left in a round is available for its questions and
// for the next round.
func TestRoundsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var heard []string
		o := Options{CallTimeout: 10 * time.Second,
			OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				select {
				case <-time.After(5 * time.Second):
				case <-ctx.Done():
				}
				return accept(`{"name":"Ada"}`)(ctx, p)
			}}
		c := connect(t, o, func(s *scripted) {
			s.modern()
			m := s.read()
			time.Sleep(8 * time.Second)
			s.notify("notifications/progress",
				fmt.Sprintf(`{"progressToken":%s,"progress":1}`,
					between(m.line, `"progressToken":`, "}")))
			time.Sleep(4 * time.Second)
			s.reply(m, wants(elicitation("a", nameForm), ""))
			m = s.read()
			s.notify("notifications/progress",
				fmt.Sprintf(`{"progressToken":%s,"progress":2}`,
					between(m.line, `"progressToken":`, "}")))
			time.Sleep(time.Second)
			s.reply(m, wants(elicitation("a", nameForm), ""))
			s.reply(s.read(), wants(elicitation("a", nameForm), ""))
		})
		_, err := c.CallTool(t.Context(), "t", nil, OnProgress(func(p mcp.ProgressParams) {
			heard = append(heard, fmt.Sprint(p.Progress, time.Since(began)))
		}))
		// Progress at 8 s extends the call to 18 s. The first question is answered at 17 s, with
		// progress until 27 s; the second at 23 s; the third too late.
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "no answer to the server's questions after 27s")
		assert.Equal(t, strings.Join(heard, " "), "1 8s 2 17s")
		shut(t, c)
	})
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}
