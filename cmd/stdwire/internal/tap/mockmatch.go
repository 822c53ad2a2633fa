package tap

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// digest matches a value that a redactor has replaced.
var digest = regexp.MustCompile(`"((?:string|number|object|array|boolean)\([0-9]+\)) [0-9a-f]{16}"`)

// canonicalParams returns the params by which requests are compared, in canonical form: without
// _meta, requestState and empty arguments; of initialize, only the protocolVersion. If the
// recording is redacted, a redacted value becomes its type and length.
func (m *Mock) canonicalParams(method string, params []byte) []byte {
	if jsonscan.Space(params, 0) == len(params) || string(params) == "null" {
		params = []byte("{}")
	}
	if i := jsonscan.Space(params, 0); params[i] == '{' {
		kept := []byte{'{'}
		for token, value := range jsonscan.Members(params) {
			name, _ := jsonscan.Text(token)
			switch {
			case name == "_meta", name == "requestState",
				name == "arguments" && isEmpty(value),
				method == mcp.MethodInitialize && name != "protocolVersion":
				continue
			}
			kept = jsonscan.AppendMember(kept, token, value)
		}
		params = append(kept, '}')
	}
	if m.redactor != nil {
		params = digest.ReplaceAll(params, []byte(`"$1"`))
	}
	if canonical, err := jsondiff.Canonical(params); err == nil {
		return canonical
	}
	return params
}

// isEmpty reports whether a value is null or an object without members.
func isEmpty(value []byte) bool {
	text := bytes.TrimSpace(value)
	return string(text) == "null" || len(text) > 0 && text[0] == '{' &&
		len(bytes.TrimSpace(text[1:len(text)-1])) == 0
}

// sequenceKey returns the key of Mock.byKey. params is nil for a notification, which is identified
// by its method alone.
func sequenceKey(method string, params []byte) string { return method + "\n" + string(params) }

// take returns the next exchange of a request or notification, or nil, and its canonical params.
// After the last exchange it returns the last again, except for tools/call and notifications.
func (m *Mock) take(method string, params []byte, notification bool) (*exchange, []byte) {
	if notification {
		params = nil
	} else {
		if m.redactor != nil && len(params) > 0 {
			params = m.redactor.frame(nil, params, FromClient)
		}
		params = m.canonicalParams(method, params)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.byKey[sequenceKey(method, params)]
	if s == nil && method == mcp.MethodInitialize {
		if i := slices.IndexFunc(m.exchanges, hasMethod(method)); i >= 0 {
			s = m.byKey[sequenceKey(method, m.exchanges[i].params)] // of another revision
		}
	}
	switch {
	case s == nil:
		return nil, params
	case s.next < len(s.exchanges):
		s.next++
	case notification || method == mcp.MethodCallTool:
		return nil, params
	}
	e := s.exchanges[s.next-1]
	e.used = true
	return e, params
}

func hasMethod(method string) func(*exchange) bool {
	return func(e *exchange) bool { return e.method == method }
}

const (
	maxNearest   = 100 // exchanges to compare a miss with
	maxMissNames = 5   // names in the message of a miss
	maxMissValue = 200 // characters of a value in it
	maxMissText  = 500 // characters of the message of a miss
)

// miss returns the error for a request that is not in the recording. It names the most similar one.
func (m *Mock) miss(method string, params []byte) *rpc.Error {
	var sameMethod, sameSubject []*exchange
	name := subject(params)
	for _, e := range m.exchanges {
		if e.method == method {
			sameMethod = append(sameMethod, e)
			if e.subject == name {
				sameSubject = append(sameSubject, e)
			}
		}
	}
	what, code := printable.Line(method), rpc.CodeInvalidParams
	if name != "" {
		what = fmt.Sprintf("%s of %q", what, name)
	}
	var hint string
	switch s := m.byKey[sequenceKey(method, params)]; {
	case s != nil:
		return missError(code, fmt.Sprintf("the recording has this %s only %d times", what,
			len(s.exchanges)), "")
	case len(sameMethod) == 0:
		code = rpc.CodeMethodNotFound
		hint = "it has " + names(m.exchanges, func(e *exchange) string { return e.method })
	case len(sameSubject) == 0:
		hint = "it has " + names(sameMethod, func(e *exchange) string {
			return fmt.Sprintf("%q", e.subject)
		})
	default:
		what += " with these params"
		hint = nearest(sameSubject, params)
	}
	return missError(code, "the recording has no "+what, hint)
}

func missError(code int, what, hint string) *rpc.Error {
	if hint != "" {
		what += "; " + hint
	}
	return rpc.Errorf(code, "%s", printable.TruncateRunes(printable.Line(what), maxMissText))
}

// names returns the distinct names of exchanges.
func names(exchanges []*exchange, name func(*exchange) string) string {
	var all []string
	seen := map[string]bool{}
	for _, e := range exchanges {
		if n := name(e); !seen[n] {
			seen[n] = true
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return "no request"
	}
	text := strings.Join(all[:min(len(all), maxMissNames)], ", ")
	if more := len(all) - maxMissNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// nearest describes the exchange whose params differ least.
func nearest(exchanges []*exchange, params []byte) string {
	var frame int64
	var least []jsondiff.Change
	for _, e := range exchanges[:min(len(exchanges), maxNearest)] {
		changes := jsondiff.Diff(e.params, params)
		if least == nil || len(changes) < len(least) {
			frame, least = e.frame, changes
		}
	}
	text := fmt.Sprintf("it has %d others; frame %d differs in ", len(exchanges), frame)
	if len(exchanges) == 1 {
		text = fmt.Sprintf("frame %d differs in ", frame)
	}
	for i, c := range least[:min(len(least), maxMissNames)] {
		if i > 0 {
			text += ", "
		}
		text += c.Short(maxMissValue)
	}
	return text
}
