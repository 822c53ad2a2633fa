package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The first byte of the requestState of the gateway says what follows the server's ID.
const (
	stateOfServer   = "s" // a questionState
	stateOfInflight = "f" // the token of an in-flight call
)

// state returns the requestState of a question of this server.
func (t *target) state(stateKind, rest string) string { return stateKind + t.id + "\n" + rest }

// stateFrom returns the parts of the requestState that the client sent, or zero values if it sent
// none.
func stateFrom(ctx context.Context) (stateKind, id, rest string) {
	if _, state := server.Inputs(ctx); state != "" {
		id, rest, _ = strings.Cut(state[1:], "\n")
		return state[:1], id, rest
	}
	return "", "", ""
}

// make makes a call and checks the size of its result.
func (c *call) make(ctx context.Context, g *Gateway) (err error) {
	if c.tool != nil && c.tool.Use != nil {
		c.composed = true
		c.result, err = c.tool.Use(ctx, c.arguments)
		return err
	}
	if key, ok := c.cacheKey(ctx); ok {
		c.result, c.cached, err = c.target.upstream.cache.Do(ctx, key,
			func() (json.RawMessage, error) { return g.forward(ctx, c) })
	} else {
		c.result, err = g.forward(ctx, c)
	}
	if large, ok := errors.AsType[*client.TooLargeError](err); ok {
		return c.refuse(byLimit, rpc.CodeInternalError,
			"the server sent a message of %d bytes or more, over the limit of %d: ask for less, or allow more with maxResult",
			large.Size, large.Limit)
	}
	if err != nil {
		return err
	}
	return c.checkResult()
}

// cacheKey returns the key by which the result of the call is cached. ok is false if it must not
// be: the tool may change something, or the result may depend on the client.
func (c *call) cacheKey(ctx context.Context) (key resultcache.Key, ok bool) {
	if c.target.upstream.cache == nil || c.tool == nil || !c.tool.ReadOnly || c.resumed ||
		c.target.upstream.sharing != host.Shared || c.target.answersQuestions {
		return key, false
	}
	for key := range c.target.meta { // the server may answer by it
		if key != mcp.MetaTraceparent && key != mcp.MetaTracestate && key != mcp.MetaBaggage {
			return resultcache.Key{}, false
		}
	}
	arguments := c.arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return resultcache.KeyOf(principal(ctx), c.tool.Text, arguments)
}

// send sends the request of the call to its server, unless what it uses does not match its pin.
func (c *call) send(ctx context.Context, to *client.Client,
	opts []client.CallOption) (result json.RawMessage, err error) {
	u := c.target.upstream
	if c.kind == mcp.KindTool || c.kind == mcp.KindPrompt {
		if err := c.comparePin(ctx, to); err != nil {
			return nil, err
		}
	}
	if c.kind == mcp.KindTool && (c.tool == nil || !c.tool.ReadOnly) {
		u.cache.Drop()
		defer func() { // of what was read meanwhile
			if _, answered := errors.AsType[*rpc.Error](err); err != nil && !answered {
				u.cache.Doubt()
			} else {
				u.cache.Drop()
			}
		}()
	}
	if c.sent != nil {
		c.sent.Store(true)
	}
	if c.directory {
		return to.Integration().Directory(ctx, c.target.name, opts...)
	}
	result, err = to.Integration().Use(ctx, c.kind, c.target.name, c.arguments, opts...)
	if err == nil && c.kind == mcp.KindResource && appdef.IsURI(c.target.name) {
		err = u.checkApp(to.ServerInfo().Name, c.target.name, result)
	}
	return result, err
}

// comparePin returns an error if the definition of the called tool or prompt does not match its
// pin. If the client to is newer than the offered list of the item, comparePin waits until that
// list, and no other, is fetched from it.
func (c *call) comparePin(ctx context.Context, to *client.Client) error {
	u, l := c.target.upstream, c.target.upstream.list(c.kind)
	if u.g.pins == nil || u.g.o.PinsWarn || c.target.session != "" {
		return nil
	}
	if l.fetcher.Source() != to {
		f := l.fetcher.From(to)
		select {
		case <-f.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if f.Err() != nil && listfetch.IsDone(to) {
			return errors.Unwrap(f.Err()) // as the call itself would fail
		}
		if f.Err() != nil {
			return c.refuse(byPin, rpc.CodeInternalError,
				"it cannot be compared with its pin: %v", f.Err())
		}
	}
	switch _, reason := l.ownStatus(c.target.name); reason {
	case ReasonChanged, ReasonIdentity:
		return c.refuse(byPin, rpc.CodeInvalidParams,
			"it is withheld: it has changed since its first use")
	case ReasonNew, ReasonUnusable:
		return c.refuse(byPin, rpc.CodeInvalidParams, "it is withheld: its definition is %s", reason)
	}
	return nil
}

var errNotResumable = rpc.Errorf(rpc.CodeInvalidParams,
	"The call that asked has ended: make it again")

// forward makes a request to a server, or resumes one that asked a question, and relays the
// server's questions. For a client that can be asked, a legacy server is called through an
// inflight.Call.
func (g *Gateway) forward(ctx context.Context, c *call) (result json.RawMessage, err error) {
	stateKind, id, token := stateFrom(ctx)
	if stateKind != "" && id != c.target.id {
		// The name belongs to another server now, which must not get the answer.
		return result, errNotResumable
	}
	var f *inflight.Call
	if stateKind == stateOfInflight {
		if f = g.inflight.Resume(token, c.target.owner); f == nil {
			return result, errNotResumable
		}
	} else {
		later, askable := false, inflight.CanAsk(ctx)
		err = g.callDirect(ctx, &c.target, !askable,
			func(to *client.Client, opts []client.CallOption) (err error) {
				if later = askable && to.Era() == mcp.Legacy; later {
					return nil
				}
				result, err = c.send(ctx, to, opts)
				return err
			})
		if !later {
			return result, err
		}
		f = g.startInflight(ctx, c)
	}
	return f.Wait(ctx) // the server package accepts a requestState for the same request only
}

// startInflight starts a call of a legacy server.
func (g *Gateway) startInflight(ctx context.Context, c *call) *inflight.Call {
	c.arguments = bytes.Clone(c.arguments) // the call may outlive the request and its buffer
	t := &c.target
	leave := t.enterSession()
	f := &inflight.Call{Server: t.id, Owner: t.owner, Principal: principal(ctx),
		Request: g.newRequest(t, true),
		State:   func(token string) string { return t.state(stateOfInflight, token) },
		Convert: clientError, Report: report,
		End: func(wanted bool) {
			if wanted {
				g.peers.WakeServers()
			}
			leave()
		}}
	if t.conn != nil {
		f.Client = t.conn.Context()
	}
	opts := append(metaOption(t.meta), client.OnProgress(f.Progress))
	f.Make = func(ctx context.Context) (result json.RawMessage, err error) {
		err = t.use(ctx, g.manager, func(to *client.Client) (err error) {
			g.peers.RaiseLevel(ctx, to, &f.Request.Logs)
			result, err = c.send(ctx, to, opts)
			return err
		})
		return result, err
	}
	g.inflight.Start(ctx, f)
	return f
}

// maxRounds is how many times in a row a server may ask for the roots of a client without roots.
const maxRounds = 10

// A questionState is the requestState of a modern server's question, and the keys of the
// roots/list requests in the question that the gateway answers itself.
type questionState struct {
	State string   `json:"state,omitempty"`
	Roots []string `json:"roots,omitempty"`
}

// questionPrefix begins the keys that the questions of a server have for the client. None of them
// is then that of a question of this program, such as one of its interceptors: a server may be a
// gateway with the same interceptors.
const questionPrefix = "upstream/"

// ownAnswers returns the answers to the questions of a server, by its own keys.
func ownAnswers(given mcp.InputResponses) mcp.InputResponses {
	own := make(mcp.InputResponses, len(given))
	for key, answer := range given {
		if key, ok := strings.CutPrefix(key, questionPrefix); ok {
			own[key] = answer
		}
	}
	return own
}

// noRoots is the answer to roots/list on behalf of a client without roots.
var noRoots = json.RawMessage(`{"roots":[]}`)

// withoutRoots returns the questions that a client without roots has to answer, and the keys of the
// roots/list requests that the gateway answers for it.
func withoutRoots(ctx context.Context, questions mcp.InputRequests) (rest mcp.InputRequests,
	answered []string) {
	if server.CapabilitiesFrom(ctx).Roots != nil {
		return questions, nil
	}
	rest = make(mcp.InputRequests)
	for key, q := range questions {
		if q.Method == mcp.MethodListRoots {
			answered = append(answered, key)
		} else {
			rest[key] = q
		}
	}
	return rest, answered
}

// addEmptyRoots answers the requests with these keys with noRoots.
func addEmptyRoots(answers *mcp.InputAnswers, keys []string) {
	for _, key := range keys {
		if answers.InputResponses == nil {
			answers.InputResponses = make(mcp.InputResponses)
		}
		answers.InputResponses[key] = noRoots
	}
}

// callDirect makes a request with the answers of the client's request in ctx. If a modern server
// asks a question, the error is that of inflight.RequireInput; roots/list requests to a client
// without roots are answered instead. isCall says that questions of a legacy server belong to this
// request, and are refused.
func (g *Gateway) callDirect(ctx context.Context, t *target, isCall bool,
	do func(c *client.Client, opts []client.CallOption) error) error {
	var answers *mcp.InputAnswers // nil: there are none
	if stateKind, _, own := stateFrom(ctx); stateKind == stateOfServer {
		var q questionState
		if err := json.Unmarshal([]byte(own), &q); err != nil {
			return err // not expected: the requestState is authenticated
		}
		given, _ := server.Inputs(ctx)
		answers = &mcp.InputAnswers{InputResponses: ownAnswers(given), RequestState: q.State}
		addEmptyRoots(answers, q.Roots)
	}
	for range maxRounds {
		err := g.use(ctx, t, isCall, func(c *client.Client) error {
			opts := append(make([]client.CallOption, 0, 4), metaOption(t.metaFor(ctx, c))...)
			opts = append(opts, client.OnProgress(func(p mcp.ProgressParams) { report(ctx, p) }))
			if !t.answersQuestions {
				opts = append(opts, client.ReturnInputRequests())
			}
			if !t.answersQuestions && answers != nil {
				opts = append(opts, client.Answers(*answers))
			}
			return do(c, opts)
		})
		required, ok := errors.AsType[*client.InputRequiredError](err)
		if !ok {
			return clientError(err)
		}
		own, roots := withoutRoots(ctx, required.Result.InputRequests)
		questions := make(mcp.InputRequests, len(own))
		for key, q := range own {
			q.Params = appuri.InMessage(t.id, q.Params)
			questions[questionPrefix+key] = q
		}
		if len(questions) > 0 || len(roots) == 0 {
			state, err := json.Marshal(questionState{required.Result.RequestState, roots})
			if err != nil {
				return err
			}
			return inflight.RequireInput(ctx, questions, t.state(stateOfServer, string(state)))
		}
		answers = &mcp.InputAnswers{RequestState: required.Result.RequestState}
		addEmptyRoots(answers, roots)
	}
	return rpc.Errorf(rpc.CodeInternalError,
		"server %q asked %d times for the roots of a client without roots", t.id, maxRounds)
}

// report sends progress to the client or to the caller of an operation in ctx.
func report(ctx context.Context, p mcp.ProgressParams) {
	total := 0.0
	if p.Total != nil {
		total = *p.Total
	}
	if call := dispatch.CallFrom(ctx); call != nil {
		dispatch.Progress(ctx, p.Progress, total, p.Message)
		return
	}
	server.Progress(ctx, p.Progress, total, p.Message)
}
