package discovery

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

const callSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The name of the tool, as ` + Find + ` returns it"},` +
	`"arguments":{"type":"object","description":"Its arguments, which fit its inputSchema"}},` +
	`"required":["name"],"additionalProperties":false}`

// InnerCall returns the params and the name of the tool that a tools/call of the tool with this
// name calls by it. ok is false if that tool calls no others. Nothing is called if the arguments
// are invalid.
func InnerCall(name, params []byte) (inner json.RawMessage, own []byte, ok bool) {
	if CallerRisk(name) == Unknown {
		return nil, nil, false
	}
	inner, own, err := Inner(params)
	return inner, own, err == nil
}

// Inner returns the params of the tools/call that a call of another tool with these params stands
// for, and the name of the inner tool, which is read nowhere else. The error is for the model.
func Inner(params []byte) (inner json.RawMessage, own []byte, err error) {
	var name, arguments []byte
	for token, value := range jsonscan.Members(jsonscan.Member(params, "arguments")) {
		member := &name
		switch {
		case jsonscan.KeyIs(token, "name"):
		case jsonscan.KeyIs(token, "arguments"):
			member = &arguments
		default:
			return nil, nil, fmt.Errorf(`Invalid arguments: %s is unknown; there are "name" and "arguments"`,
				printable.TruncateBytes(string(token), 100))
		}
		if *member != nil {
			return nil, nil, fmt.Errorf("Invalid arguments: %s occurs twice", token)
		}
		*member = value
	}
	own, ok := jsonscan.Unquote(name)
	switch {
	case !ok || len(own) == 0:
		return nil, nil, errors.New(`Invalid arguments: "name" must be the name of a tool, as ` + Find +
			" returns it")
	case IsMeta(own):
		return nil, nil, fmt.Errorf("Invalid arguments: %s cannot be called by another tool", own)
	}
	if text, ok := jsonscan.Unquote(arguments); ok && jsonscan.Valid(text) == nil {
		arguments = text // models often write them as a string
	}
	switch {
	case arguments == nil || string(arguments) == "null":
		arguments = []byte(`{}`)
	case arguments[jsonscan.Space(arguments, 0)] != '{':
		return nil, nil, errors.New(`Invalid arguments: "arguments" must be an object`)
	}
	inner = jsonscan.SetMember(jsonscan.SetMember(params, "name", name), "arguments", arguments)
	return inner, own, nil
}
