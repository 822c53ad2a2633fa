package server

import (
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// A resultForm says how the envelope of an operation becomes the result of a tool.
type resultForm int

const (
	// For programs, the structured content is the envelope. For models, the content is the text
	// that the operation returns for its data, or else the same JSON. A client without structured
	// content gets the JSON.
	envelopeResult resultForm = iota

	// The forms of typed tools, without the envelope; the data is:
	structuredResult // structured content
	textResult       // text, from a JSON string
	emptyResult      // nothing
	completeResult   // a CallToolResult
)

// A toolResult is the result of an operation for tools/call. A completeResult is one for the modern
// era and without _meta.
type toolResult struct {
	Result
	server   *Server
	era      *era.Era
	form     resultForm
	envelope dispatch.Envelope
}

// toolResult returns the result of an operation for the client's era.
func (r *request) toolResult(form resultForm, envelope dispatch.Envelope) (*Result, error) {
	isError := !envelope.Success()
	if form == completeResult && !isError {
		hasMeta := false
		for name, value := range jsonscan.Members(envelope.Data) {
			hasMeta = hasMeta || jsonscan.KeyIs(name, "_meta")
			isError = isError || jsonscan.KeyIs(name, "isError") && string(value) == "true"
		}
		if hasMeta || !r.era.Modern {
			var result mcp.CallToolResult
			if err := mcp.Unmarshal(envelope.Data, &result); err != nil {
				return nil, r.logError(err) // an interceptor has replaced the data
			}
			return r.rawToolResult(&result)
		}
	}
	t := &toolResult{Result{checked: true, isError: isError}, r.conn.server, r.era, form, envelope}
	t.content = t
	return &t.Result, nil
}

// size returns about how many bytes the result has: structured content occurs twice, once with
// escapes.
func (t *toolResult) size() int {
	size := len(t.envelope.Data) + 512
	if t.form == envelopeResult || t.form == structuredResult {
		size += len(t.envelope.Data) + len(t.envelope.Data)/8
	}
	return size
}

func (t *toolResult) appendJSON(dst []byte) []byte {
	dst = slices.Grow(dst, t.size())
	if t.form == envelopeResult {
		dst = t.appendEnvelope(dst)
	} else {
		dst = t.appendTyped(dst)
	}
	return t.server.appendResultEnd(dst, t.era, t.envelope.Session)
}

// appendEnvelope appends an envelopeResult without its end.
func (t *toolResult) appendEnvelope(dst []byte) []byte {
	dst = append(dst, '{')
	own := t.envelope
	own.Session = "" // the session goes into _meta
	var envelope []byte
	if t.era.StructuredContent {
		dst = append(dst, `"structuredContent":`...)
		start := len(dst)
		dst = own.AppendJSON(dst)
		envelope = dst[start:] // remains valid if append moves dst
		dst = append(dst, ',')
	} else {
		envelope = own.AppendJSON(nil)
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	if t.era.StructuredContent && own.Text != "" {
		dst = jsonscan.AppendString(dst, own.Text)
	} else {
		dst = jsonscan.AppendString(dst, envelope)
	}
	return strconv.AppendBool(append(dst, `}],"isError":`...), t.isError)
}

// appendTyped appends the result of a typed tool without its end.
func (t *toolResult) appendTyped(dst []byte) []byte {
	const text = `{"content":[{"type":"text","text":`
	data := t.envelope.Data
	switch {
	case !t.envelope.Success():
		dst = jsonscan.AppendString(append(dst, text...), t.envelope.Err.Message)
		return append(dst, `}],"isError":true`...)
	case t.form == textResult:
		return append(append(append(dst, text...), data...), `}]`...)
	case t.form == emptyResult:
		return append(dst, `{"content":[]`...)
	case t.form == completeResult:
		return append(dst, data[:len(data)-1]...)
	}
	dst = jsonscan.AppendString(append(dst, text...), []byte(data))
	dst = append(dst, `}]`...)
	if t.era.AllowsStructured(data) {
		dst = append(append(dst, `,"structuredContent":`...), data...)
	}
	return dst
}

// appendResultEnd ends the result of a tool, with the ID of the session in which it ran, if any.
func (s *Server) appendResultEnd(dst []byte, e *era.Era, session string) []byte {
	switch {
	case e.Modern && session == "":
		return s.appendModernSuffix(dst)
	case e.Modern:
		dst = append(append(append(dst, s.modernSuffix...), ','), metaSession...)
	case session == "":
		return append(dst, '}')
	default:
		dst = append(dst, `,"_meta":{`+metaSession...)
	}
	return append(jsonscan.AppendString(dst, session), "}}"...)
}
