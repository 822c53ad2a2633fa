package access

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// itemOf returns what rules see of an item. Key is its public name.
func (r *Rules) itemOf(kind mcp.Kind, key string, o *server.Origin) policy.Item {
	if o.Operation != nil {
		return itemOfOperation(o.Operation)
	}
	item := policy.Item{Server: o.Server, Name: o.Name}
	item.Name = cmp.Or(item.Name, key)
	if item.Server == "" && o.Definition != nil {
		item.Server = Own
	}
	switch kind {
	case mcp.KindTool:
		item.Risk, item.Open = r.risks.of(o.Server+"\n"+key, o.Definition)
	case mcp.KindPrompt:
		item.Kind = policy.Prompt
	case mcp.KindResourceTemplate:
		item.Kind = policy.Template
	default:
		item.Kind = policy.Resource
	}
	return item
}

// itemOfOperation returns a built-in operation, which has the name of its tool.
func itemOfOperation(op *dispatch.Operation) policy.Item {
	spec := op.Spec()
	item := policy.Item{Server: Own, Name: toolName(op), Risk: policy.Write, Open: spec.OpenWorld}
	switch {
	case spec.Type == dispatch.Read, spec.Type == dispatch.Wait:
		item.Risk = policy.Read
	case op.Destructive(), spec.Type == dispatch.Eval:
		item.Risk = policy.Destructive
	}
	return item
}

func toolName(op *dispatch.Operation) string { return strings.ReplaceAll(op.Name(), ".", "_") }

// itemOfAny is itemOfOperation for an operation that may be the tool of a gateway's server.
func (r *Rules) itemOfAny(ctx context.Context, op *dispatch.Operation) policy.Item {
	if g := r.gateway.Load(); g != nil {
		if o, ok := g.Operation(ctx, op.Name()); ok {
			return r.itemOf(mcp.KindTool, o.Name, &o)
		}
	}
	return itemOfOperation(op)
}

// operationsOf returns the operations of a service, which may be one tool.
func operationsOf(catalog *dispatch.Catalog, service string) (all []*dispatch.Operation) {
	for _, op := range catalog.Operations() {
		if name, _, ok := strings.Cut(op.Name(), "."); ok && name == service {
			all = append(all, op)
		}
	}
	return all
}

// maxRisks limits the tools whose hints are cached.
const maxRisks = 20_000

// A risks caches the hints of definitions, which are long.
type risks struct {
	byTool atomic.Pointer[sync.Map] // of names, to knownRisk
	n      atomic.Int64
}

type knownRisk struct {
	definition []byte
	risk       policy.Risk
	open       bool
}

// of returns what a tool may do, by its definition; without one, the worst.
func (r *risks) of(name string, definition []byte) (policy.Risk, bool) {
	if definition == nil {
		return policy.Destructive, true
	}
	cache := r.byTool.Load()
	if cache == nil || r.n.Load() > maxRisks {
		cache = new(sync.Map)
		r.byTool.Store(cache)
		r.n.Store(0)
	}
	if known, ok := cache.Load(name); ok {
		if k := known.(*knownRisk); jsonscan.Same(k.definition, definition) {
			return k.risk, k.open
		}
	}
	var hints *mcp.ToolAnnotations
	if raw := jsonscan.Member(definition, "annotations"); raw != nil {
		hints = new(mcp.ToolAnnotations)
		if mcp.Unmarshal(raw, hints) != nil {
			hints = nil
		}
	}
	k := &knownRisk{definition, policy.Write, hints.OpenWorld()}
	switch {
	case hints.ReadOnly():
		k.risk = policy.Read
	case hints.Destructive():
		k.risk = policy.Destructive
	}
	cache.Store(name, k)
	r.n.Add(1)
	return k.risk, k.open
}
