package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// AppendJSON implements [rpc.Appender]: it appends the params, including the _meta that the
// protocol requires.
func (r *call) AppendJSON(dst []byte) ([]byte, error) {
	o := object.Open(dst)
	r.codecErr = r.appendParams(&o)
	return o.Close(), r.codecErr
}

func (r *call) appendParams(o *object.Object) error {
	var own mcp.Meta // the _meta of the params themselves
	var err error
	if r.tool != "" {
		o.Text("name", r.tool)
		o.Key("arguments")
		if o.B, err = object.Append(o.B, r.params); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		r.appendTask(o)
	} else {
		params, err := object.Append(nil, r.params)
		if err != nil {
			return fmt.Errorf("params: %w", err)
		}
		for token, value := range jsonscan.Members(params) {
			if jsonscan.KeyIs(token, "_meta") {
				if own, err = decodeMeta(value); err != nil {
					return fmt.Errorf("params: _meta: %w", err)
				}
				continue
			}
			o.Member(token, value)
		}
	}
	if r.answers.InputResponses != nil {
		answers, err := mcp.Marshal(r.answers.InputResponses)
		if err != nil {
			return fmt.Errorf("answers: %w", err)
		}
		o.Key("inputResponses")
		o.B = append(o.B, answers...)
	}
	if r.requestState != nil {
		o.Key("requestState")
		o.B = append(o.B, r.requestState...)
	} else if r.answers.RequestState != "" {
		o.Text("requestState", r.answers.RequestState)
	}
	return r.appendMeta(o, own)
}

func decodeMeta(raw []byte) (m mcp.Meta, err error) {
	err = mcp.Unmarshal(raw, &m)
	return m, err
}

// appendMeta appends the member _meta, unless it is empty.
func (r *call) appendMeta(o *object.Object, own mcp.Meta) error {
	if len(r.meta.members) == 0 && r.progress == nil && len(own)+len(r.extra) == 0 {
		return nil
	}
	o.Key("_meta")
	m := object.Open(o.B)
	m.Members(r.meta.members)
	if r.progress != nil {
		m.Key(mcp.MetaProgressToken)
		m.B = strconv.AppendInt(m.B, r.progress.Token, 10)
	}
	level := r.meta.level
	if len(own)+len(r.extra) > 0 {
		all := maps.Clone(own)
		if all == nil {
			all = make(mcp.Meta, len(r.extra))
		}
		maps.Copy(all, r.extra)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if slices.Contains(ownMeta, name) {
				continue
			}
			if name == mcp.MetaLogLevel {
				level = nil
			}
			m.Key(name)
			var err error
			if m.B, err = object.AppendValue(m.B, all[name]); err != nil {
				return fmt.Errorf("_meta[%q]: %w", name, err)
			}
		}
	}
	if level != nil {
		m.Key(mcp.MetaLogLevel)
		m.B = append(m.B, level...)
	}
	o.B = m.Close()
	return nil
}

// appendTask appends the param that requests a task.
func (r *call) appendTask(o *object.Object) {
	if !r.requestTask {
		return
	}
	o.Key("task")
	wish := object.Open(o.B)
	if r.ttl > 0 {
		wish.Key("ttl")
		wish.B = strconv.AppendInt(wish.B, max(1, r.ttl.Milliseconds()), 10)
	}
	o.B = wish.Close()
}

// requestMeta is the common part of _meta of all requests of a modern connection. For a legacy one
// it is zero.
type requestMeta struct {
	members []byte // of a JSON object, without its braces
	level   []byte // the encoded log level, which a call may replace; nil for none
}

// ownMeta are the members that a call cannot replace.
var ownMeta = []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities,
	mcp.MetaProgressToken}

// newRequestMeta returns the _meta that a revision requires (2026-07-28, Base Protocol, "_meta").
func newRequestMeta(revision mcp.Revision, level mcp.LoggingLevel, o *Options) *requestMeta {
	m := new(requestMeta)
	if mcp.EraOf(revision) != mcp.Modern {
		return m
	}
	m.members = jsonscan.AppendString([]byte(`"`+mcp.MetaProtocolVersion+`":`), string(revision))
	add := func(key string, value any) {
		text, _ := mcp.Marshal(value) // cannot fail: withDefaults has encoded it
		m.members = append(append(m.members, `,"`+key+`":`...), text...)
	}
	add(mcp.MetaClientInfo, o.Info)
	can := o.Capabilities()
	if can.Roots != nil {
		can.Roots = new(mcp.ListCapability) // a modern client sends no change notifications
	}
	if can.Extensions == nil {
		can.Extensions = make(map[string]json.RawMessage, 1)
	}
	can.Extensions[mcp.ExtensionTasks] = json.RawMessage(`{}`) // of modern revisions only
	add(mcp.MetaClientCapabilities, can)
	if level != "" {
		m.level = jsonscan.AppendString(nil, string(level))
	}
	return m
}
