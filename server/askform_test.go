package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

type order struct {
	Size  string   `json:"size" enum:"small,large" doc:"How big."`
	Count int      `json:"count" default:"1" min:"1"`
	Tops  []string `json:"tops,omitempty" enum:"ham,egg"`
}

// asking returns a server whose handler asks with the form of a Go type, and continues without an
// answer if the client cannot be asked.
func asking() *server.Server {
	s := made(quiet)
	server.AddTool(s, mcp.Tool{Name: "order"},
		func(ctx context.Context, _ struct{}) (string, error) {
			o, action, err := server.Ask[order](ctx, "order", "What shall it be?")
			if errors.Is(err, server.ErrUnsupported) {
				return "the usual", nil
			}
			return fmt.Sprint(o, " ", action), err
		})
	server.AddTool(s, mcp.Tool{Name: "sure"},
		func(ctx context.Context, _ struct{}) (string, error) {
			_, action, err := server.Ask[struct{}](ctx, "sure", "Sure?")
			return string(action), err
		})
	return s
}

func TestAsk(t *testing.T) {
	const form = `"requestedSchema":{"type":"object","properties":{"size":{"type":"string","description":"How big.","enum":["small","large"]},"count":{"type":"integer","default":1,"minimum":1},"tops":{"type":"array","items":{"type":"string","enum":["ham","egg"]}}},"required":["size"]}`
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"size":"large","tops":["egg"]}}`: "{large 1 [egg]} accept",
		`{"action":"decline"}`: "{ 0 []} decline",
		`{"action":"cancel"}`:  "{ 0 []} cancel",
	} {
		k := speak(t, asking(), "2025-11-25", `{"elicitation":{"form":{}}}`)
		k.start("tools/call", `{"name":"order"}`)
		question := k.next()
		assert.Assert(t, cmp.Contains(question.raw, form))
		k.reply(question, answer)
		assert.Assert(t, cmp.Contains(k.next().raw, textBlock(want)))

		k = speak(t, asking(), newest, `{"elicitation":{"form":{}}}`)
		first := k.request("tools/call", `{"name":"order"}`)
		assert.Assert(t, cmp.Contains(first.raw, form))
		again := k.again(place{method: "tools/call", params: `{"name":"order"}`}, first.asks("order"),
			`{"order":`+answer+`}`)
		assert.Assert(t, cmp.Contains(again.raw, textBlock(want)))
	}
	k := speak(t, asking(), "2025-11-25", `{"elicitation":{}}`)
	k.start("tools/call", `{"name":"sure"}`)
	question := k.next()
	assert.Assert(t, cmp.Contains(question.raw,
		`"requestedSchema":{"type":"object","properties":{}}`))
	k.reply(question, `{"action":"accept"}`)
	assert.Assert(t, cmp.Contains(k.next().raw, textBlock("accept")))
}

func TestAskUnsupported(t *testing.T) {
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, asking(), revision, `{}`)
		k.want("tools/call", `{"name":"order"}`, "{"+textBlock("the usual")+"}")
		refused := k.request("tools/call", `{"name":"sure"}`)
		assert.Assert(t, cmp.Contains(refused.raw, "does not declare the capability elicitation"))
	})
}

// A logger of a request writes to the server's log, whatever level the client has set.
func TestLoggerWritesToBoth(t *testing.T) {
	var log strings.Builder
	o := quiet
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := made(o, func(s *server.Server) {
		raw := echo("work", `{"type":"object"}`)
		call := raw.Call
		raw.Call = func(ctx context.Context, in json.RawMessage) (*mcp.CallToolResult, error) {
			server.Logger(ctx).Info("at work")
			return call(ctx, in)
		}
		must(t, s.AddRawTool(raw))
	})
	k := speak(t, s, "2025-11-25", `{}`)
	k.request("tools/call", `{"name":"work"}`)
	k.request("logging/setLevel", `{"level":"info"}`)
	k.start("tools/call", `{"name":"work"}`)
	assert.Assert(t, cmp.Contains(k.next().raw, `"at work"`))
	k.next()
	k.request("logging/setLevel", `{"level":"error"}`)
	k.request("tools/call", `{"name":"work"}`)
	assert.Equal(t, strings.Count(log.String(), "at work"), 3)
}
