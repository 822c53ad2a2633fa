package results

import (
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/server/internal/era"
)

// A Form says how the envelope of an operation becomes the result of a tool.
type Form int

const (
	// For programs, the structured content is the envelope. For models, the content is the text
	// that the operation returns for its data, or else the same JSON. A client without structured
	// content gets the JSON.
	FormEnvelope Form = iota

	// The forms of typed tools, without the envelope; the data is:
	FormStructured // structured content
	FormText       // text, from a JSON string
	FormEmpty      // nothing
	FormComplete   // a CallToolResult
)

// A Tool is the result of an operation for tools/call. With FormComplete it is one for the modern
// era and without _meta.
type Tool struct {
	Common   *Common
	Era      *era.Era
	Form     Form
	Envelope dispatch.Envelope
}

// Size returns about how many bytes the result has: structured content occurs twice, once with
// escapes.
func (t *Tool) Size() int {
	size := len(t.Envelope.Data) + 512
	if t.Form == FormEnvelope || t.Form == FormStructured {
		size += len(t.Envelope.Data) + len(t.Envelope.Data)/8
	}
	return size
}

// AppendJSON appends the result. It ends with the ID of the session in which the call ran, if any.
func (t *Tool) AppendJSON(dst []byte) []byte {
	dst = slices.Grow(dst, t.Size())
	if t.Form == FormEnvelope {
		dst = t.appendEnvelope(dst)
	} else {
		dst = t.appendTyped(dst)
	}
	if t.Envelope.Session == "" {
		return t.Common.AppendEnd(dst, t.Era.Modern)
	}
	dst = append(t.Common.AppendMeta(dst, t.Era.Modern), `"session_id":`...)
	return append(jsonscan.AppendString(dst, t.Envelope.Session), "}}"...)
}

// appendEnvelope appends the result of a FormEnvelope without its end.
func (t *Tool) appendEnvelope(dst []byte) []byte {
	dst = append(dst, '{')
	own := t.Envelope
	own.Session = "" // the session goes into _meta
	var envelope []byte
	if t.Era.StructuredContent {
		dst = append(dst, `"structuredContent":`...)
		start := len(dst)
		dst = own.AppendJSON(dst)
		envelope = dst[start:] // remains valid if append moves dst
		dst = append(dst, ',')
	} else {
		envelope = own.AppendJSON(nil)
	}
	dst = append(dst, `"content":[{"type":"text","text":`...)
	if t.Era.StructuredContent && own.Text != "" {
		dst = jsonscan.AppendString(dst, own.Text)
	} else {
		dst = jsonscan.AppendString(dst, envelope)
	}
	return strconv.AppendBool(append(dst, `}],"isError":`...), t.Envelope.Err != nil)
}

// appendTyped appends the result of a typed tool without its end.
func (t *Tool) appendTyped(dst []byte) []byte {
	const text = `{"content":[{"type":"text","text":`
	data := t.Envelope.Data
	switch {
	case t.Envelope.Err != nil:
		dst = jsonscan.AppendString(append(dst, text...), t.Envelope.Err.Message)
		return append(dst, `}],"isError":true`...)
	case t.Form == FormText:
		return append(append(append(dst, text...), data...), `}]`...)
	case t.Form == FormEmpty:
		return append(dst, `{"content":[]`...)
	case t.Form == FormComplete:
		return append(dst, data[:len(data)-1]...)
	}
	dst = jsonscan.AppendString(append(dst, text...), []byte(data))
	dst = append(dst, `}]`...)
	if t.Era.AllowsStructured(data) {
		dst = append(append(dst, `,"structuredContent":`...), data...)
	}
	return dst
}
