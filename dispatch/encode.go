package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// codec decodes arguments and encodes results as their inferred schemas describe them.
var codec = jsonexact.NewPortable()

// encode returns the data of an envelope. out points to the result of the operation.
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
		return jsonscan.AppendCompact(nil, data) // a line break could end a frame
	}
	return data, jsonscan.Valid(data)
}

const maxPooledBuffer = 64 << 10 // bytes; larger buffers are not pooled

func (op *Operation) encodeTyped(out any) (json.RawMessage, error) {
	buffer, ok := op.results.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	data, err := codec.Append((*buffer)[:0], out)
	if cap(data) > maxPooledBuffer {
		return data, err
	}
	*buffer = data
	data = bytes.Clone(data)
	op.results.Put(buffer)
	return data, err
}

// encode returns the JSON of a value.
func encode(value any) (json.RawMessage, error) { return codec.Append(nil, value) }
