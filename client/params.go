package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// AppendJSON implements [rpc.Appender]: it appends the params, including the _meta that the
// protocol requires.
func (r *call) AppendJSON(dst []byte) ([]byte, error) {
	o := openObject(dst)
	r.codecErr = r.appendParams(&o)
	return o.close(), r.codecErr
}

func (r *call) appendParams(o *object) error {
	var own mcp.Meta // the _meta of the params themselves
	var err error
	if r.tool != "" {
		o.text("name", r.tool)
		o.key("arguments")
		if o.b, err = appendObject(o.b, r.params); err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		r.appendTask(o)
	} else {
		params, err := appendObject(nil, r.params)
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
			o.member(token, value)
		}
	}
	if r.answers.InputResponses != nil {
		o.key("inputResponses")
		if o.b, err = mcp.Append(o.b, r.answers.InputResponses); err != nil {
			return fmt.Errorf("answers: %w", err)
		}
	}
	if r.requestState != nil {
		o.key("requestState")
		o.b = append(o.b, r.requestState...)
	} else if r.answers.RequestState != "" {
		o.text("requestState", r.answers.RequestState)
	}
	return r.appendMeta(o, own)
}

func decodeMeta(raw []byte) (m mcp.Meta, err error) {
	err = mcp.Unmarshal(raw, &m)
	return m, err
}

// appendMeta appends the member _meta, unless it is empty.
func (r *call) appendMeta(o *object, own mcp.Meta) error {
	if len(r.meta.members) == 0 && r.progress == nil && len(own)+len(r.extra) == 0 {
		return nil
	}
	o.key("_meta")
	m := openObject(o.b)
	m.members(r.meta.members)
	if r.progress != nil {
		m.key(mcp.MetaProgressToken)
		m.b = strconv.AppendInt(m.b, r.progress.token, 10)
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
			m.key(name)
			var err error
			if m.b, err = appendJSON(m.b, all[name]); err != nil {
				return fmt.Errorf("_meta[%q]: %w", name, err)
			}
		}
	}
	if level != nil {
		m.key(mcp.MetaLogLevel)
		m.b = append(m.b, level...)
	}
	o.b = m.close()
	return nil
}

// An object is a JSON object that is being appended.
type object struct {
	b     []byte
	start int
}

func openObject(dst []byte) object {
	dst = append(dst, '{')
	return object{dst, len(dst)}
}

func (o *object) comma() {
	if len(o.b) > o.start {
		o.b = append(o.b, ',')
	}
}

// key appends a member's name; the caller appends the value to b.
func (o *object) key(name string) {
	o.comma()
	o.b = append(jsonscan.AppendString(o.b, name), ':')
}

func (o *object) text(name, value string) {
	o.key(name)
	o.b = jsonscan.AppendString(o.b, value)
}

// member appends an encoded member.
func (o *object) member(name, value []byte) {
	o.comma()
	o.b = append(append(append(o.b, name...), ':'), value...)
}

// members appends encoded members, separated by commas.
func (o *object) members(encoded []byte) {
	if len(encoded) > 0 {
		o.comma()
		o.b = append(o.b, encoded...)
	}
}

func (o *object) close() []byte { return append(o.b, '}') }

// appendObject appends v, which must encode as a JSON object; nil is an empty one.
func appendObject(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	dst, err := appendJSON(dst, v)
	switch {
	case err != nil:
		return dst, err
	case string(dst[start:]) == "null":
		return append(dst[:start], "{}"...), nil
	case dst[start] != '{':
		return dst, fmt.Errorf("want a JSON object, not %.40s", dst[start:])
	}
	return dst, nil
}

// appendJSON appends v on one line: raw JSON is validated, a [rpc.Appender] appends itself, and
// other values are encoded as encoding/json does, without escaping HTML.
func appendJSON(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case rpc.Appender:
		return v.AppendJSON(dst)
	case json.RawMessage:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return jsonscan.AppendCompact(dst, v)
	}
	return jsonexact.Append(dst, v)
}
