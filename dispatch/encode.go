package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// encode makes data of a pointer to what the operation returned.
func (op *Operation) encode(out any) (json.RawMessage, error) {
	var data json.RawMessage
	var err error
	if raw, ok := out.(*json.RawMessage); ok {
		data, err = checkRaw(*raw)
	} else {
		data, err = op.encodeTyped(out)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if op.output != nil {
		if err := op.output.ValidateScanned(data); err != nil {
			return nil, fmt.Errorf("the result breaks the output schema: %w", err)
		}
	}
	return data, nil
}

func checkRaw(data json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(data) == 0:
		return json.RawMessage("null"), nil
	case bytes.ContainsAny(data, "\r\n"):
		return compact(data)
	}
	return data, jsonscan.Valid(data)
}

// compact returns a copy of JSON without white space: a line break in it could end a frame.
func compact(data json.RawMessage) (json.RawMessage, error) {
	if err := jsonscan.Valid(data); err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err := json.Compact(&line, data)
	return line.Bytes(), err
}

const keptResult = 64 << 10 // bytes that an encoder may hold on to between calls

func (op *Operation) encodeTyped(out any) (json.RawMessage, error) {
	e, ok := op.encoders.Get().(*encoder)
	if !ok {
		e = newEncoder()
	}
	data, err := e.encode(out)
	if e.text.Cap() > keptResult {
		return data, err
	}
	data = bytes.Clone(data)
	op.encoders.Put(e)
	return data, err
}

// encode is json.Marshal without the escapes for HTML, because models read this text, and with a check that raw JSON in the value is
// UTF-8, because json.Marshal has none.
func encode(value any) (json.RawMessage, error) { return newEncoder().encode(value) }

// An encoder keeps the memory of encoding one value for the next.
type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

func newEncoder() *encoder {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}

// encode returns the value's JSON, which is overwritten by the next.
func (e *encoder) encode(value any) (json.RawMessage, error) {
	e.text.Reset()
	if err := e.json.Encode(value); err != nil {
		return nil, err
	}
	if !utf8.Valid(e.text.Bytes()) {
		return nil, errors.New("raw JSON in it is not UTF-8")
	}
	return bytes.TrimSuffix(e.text.Bytes(), []byte("\n")), nil
}
