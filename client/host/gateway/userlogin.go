package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/toolresult"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// loginTool is the name of the tool with which users log in, after the ID of the server, which it
// has also with Options.NoPrefix.
const loginTool = "login"

// newLoginTool returns the tool with which users log in. It is one that only reads: whoever may
// use anything of the server may log in.
func (u *upstreamServer) newLoginTool() *server.Item {
	definition, err := mcp.Marshal(&mcp.Tool{
		Name: host.PublicName(u.id, loginTool, u.g.o.MaxName),
		Description: fmt.Sprintf("Log the user in to %q, whose other tools are listed then. "+
			"Without an answer of the user, it returns what he has to do.", u.id),
		InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}})
	if err != nil {
		panic(err) // it has no member that can be invalid
	}
	done, err := mcp.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
		Text: fmt.Sprintf("The user is logged in to %q. Its tools are listed now.", u.id)}}})
	if err != nil {
		panic(err)
	}
	return &server.Item{Kind: mcp.KindTool, Definition: definition, Listed: true, Server: u.id,
		Name: loginTool, Use: func(ctx context.Context, public string,
			_ json.RawMessage) (json.RawMessage, error) {
			ask := u.loginOf(ctx)
			if ask == nil {
				return done, nil
			}
			result, err := ask(ctx, mcp.KindTool, loginTool)
			if errors.Is(err, dispatch.NotFound) {
				err = unknown(mcp.KindTool, public)
			}
			if result == nil && err == nil {
				result = done
			}
			return result, err
		}}
}

// ownLoginTool returns the items of a server for a caller who has to log in.
func (u *upstreamServer) ownLoginTool() *server.OwnItems {
	items, errs := server.NewOwnItems([]server.Item{*u.loginTool})
	if errs != nil {
		panic(errors.Join(errs...))
	}
	return items
}

func unknown(kind mcp.Kind, public string) error {
	return rpc.Errorf(rpc.CodeInvalidParams, "Unknown %s: %.200s", kind, public)
}

// loginItem returns the item that answers a use of an unlisted tool or prompt, if that may belong
// to a wanted server to which the caller has to log in, or nil. The tool to log in is also found
// after the login, because clients may remember it, or repeat a call with an answer.
func (g *Gateway) loginItem(ctx context.Context, kind mcp.Kind, public string,
	wanted func(*upstreamServer) bool) *server.Item {
	for _, u := range g.allUpstreams() {
		if u.loginTool == nil || u.disabled.Load() || !wanted(u) {
			continue
		}
		if kind == mcp.KindTool && public == kind.KeyOf(u.loginTool.Definition) {
			return u.loginTool
		}
		if ask := u.loginOf(ctx); ask != nil && !g.o.NoPrefix {
			return u.loginItem(kind, public, ask)
		}
	}
	return nil
}

func (u *upstreamServer) loginItem(kind mcp.Kind, public string, ask askLogin) *server.Item {
	definition := append(jsonscan.AppendString([]byte(`{"name":`), public),
		`,"inputSchema":{"type":"object"}}`...)
	own := public[len(u.publicName("")):]
	return &server.Item{Kind: kind, Definition: definition, Server: u.id, Name: own,
		Use: func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage,
			error) {
			switch result, err := ask(ctx, kind, own); {
			case errors.Is(err, dispatch.NotFound):
				return nil, unknown(kind, public)
			case result != nil || err != nil:
				return result, err
			}
			timer := time.NewTimer(maxAwait)
			defer timer.Stop()
			l, err := u.listsFor(ctx, timer.C)
			if err != nil {
				return nil, clientError(err)
			}
			o := l.offers[kind][public]
			if o == nil {
				return nil, unknown(kind, public)
			}
			return u.item(nil, kind, o).Use(ctx, public, arguments)
		}}
}

// askForOperation asks the caller of an operation that may belong to a wanted server to log in. The
// error says what he has to do.
func (g *Gateway) askForOperation(ctx context.Context, operation string,
	wanted func(*upstreamServer) bool) error {
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || !wanted(u) {
			continue
		}
		ask := u.loginOf(ctx)
		if ask == nil {
			continue
		}
		_, own, _ := strings.Cut(operation, ".")
		result, err := ask(ctx, mcp.KindTool, own)
		switch {
		case errors.Is(err, dispatch.NotFound):
			return nil
		case err != nil:
			return err
		case result != nil:
			r := toolresult.Parse(result)
			return dispatch.Errorf(dispatch.StateError, "%s", r.Message())
		}
	}
	return nil
}

// Relist fetches the lists of a user of a server with [host.PerUser] again, whatever is known of
// them, and then announces them to the clients of his principal. It is for a user who has logged
// in. name and user are those of Upstream.User. Relist does not block.
func (g *Gateway) Relist(server, principal, name string, user any) {
	for _, u := range g.allUpstreams() {
		if u.id != server || u.sharing != host.PerUser || u.disabled.Load() {
			continue
		}
		t := &u.users
		t.mu.Lock()
		if l := t.byName[name]; l != nil {
			t.remove(name, l)
		}
		_, err := t.start(u, name, user, principal, true)
		t.mu.Unlock()
		if err != nil {
			u.warn("the lists of a user who has logged in are not fetched", err)
		}
	}
}
