package api

import (
	"encoding/json"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A body is the parsed body of a request. The params are a slice of the request's text, so they are
// JSON, but need not be an object.
type body struct {
	action, instance, session string
	params                    json.RawMessage
	confirm                   bool
}

// keys are the members of a body.
var keys = [...]struct {
	name, want string
	set        func(b *body, value []byte) (ok bool)
}{
	{"action", "a string", func(b *body, value []byte) (ok bool) {
		b.action, ok = jsonscan.Text(value)
		return ok
	}},
	{"params", "an object", func(b *body, value []byte) bool {
		b.params = value
		return value[0] == '{' || value[0] == 'n'
	}},
	{"instance", "a string", func(b *body, value []byte) (ok bool) {
		b.instance, ok = jsonscan.Text(value)
		return ok
	}},
	{"session", "a string", func(b *body, value []byte) (ok bool) {
		b.session, ok = jsonscan.Text(value)
		return ok
	}},
	{"confirm", "true or false", func(b *body, value []byte) bool {
		b.confirm = value[0] == 't'
		return value[0] == 't' || value[0] == 'f'
	}},
}

// parse parses a body. The error has the code [dispatch.InvalidInput].
func parse(text []byte) (*body, *dispatch.Error) {
	text = jsonscan.TrimBOM(text)
	if err := jsonscan.Valid(text); err != nil {
		return nil, dispatch.Errorf(dispatch.InvalidInput, "the body: %s", err)
	}
	if text[jsonscan.Space(text, 0)] != '{' {
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			`the body must be an object: {"action":"…","params":{…}}`)
	}
	b, seen := &body{}, [len(keys)]bool{}
members:
	for token, value := range jsonscan.Members(text) {
		for i, key := range keys {
			if !jsonscan.KeyIs(token, key.name) {
				continue
			}
			if seen[i] {
				return nil, dispatch.Errorf(dispatch.InvalidInput, "the body has the key %q twice",
					key.name)
			}
			if seen[i] = true; !key.set(b, value) {
				return nil, dispatch.Errorf(dispatch.InvalidInput, "the body's %q must be %s",
					key.name, key.want)
			}
			continue members
		}
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			"the body has the unknown key %.100s; want action, params, instance, session and confirm",
			token)
	}
	return b, nil
}
