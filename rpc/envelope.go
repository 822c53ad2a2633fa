package rpc

import "github.com/stdwire/stdwire/internal/jsonscan"

// An envelope holds the parts of a message that one validating scan found. Its slices refer to the
// frame and are nil for absent members.
type envelope struct {
	id                             ID
	method                         []byte // unquoted
	params, result, err            []byte
	hasMethod, hasResult, hasError bool
}

// scanHead returns what the beginning of a message says: the id, and whether the message is a
// response. The id is zero if it is not there, or if that could be neither decided.
func scanHead(head []byte) (id ID, response bool) {
	i := jsonscan.Space(head, 0)
	if i >= len(head) || head[i] != '{' {
		return ID{}, false
	}
	request := false
	for {
		token, at, err := jsonscan.Key(head, jsonscan.Space(head, i+1))
		if err != nil {
			break
		}
		request = request || jsonscan.KeyIs(token, "method")
		response = response || jsonscan.KeyIs(token, "result") || jsonscan.KeyIs(token, "error")
		end, err := jsonscan.Value(head, at)
		if i = jsonscan.Space(head, end); err != nil || i >= len(head) || head[i] != ',' {
			break
		}
		if jsonscan.KeyIs(token, "id") {
			id, _ = idFromToken(head[at:end])
		}
	}
	if request == response {
		return ID{}, false
	}
	return id, response
}

// A fault is the first reason that the scan found why a message is malformed.
type fault struct {
	code   int
	reason string
}

// The members that scanEnvelope has met.
const (
	seenVersion uint8 = 1 << iota
	seenID
	seenMethod
	seenParams
	seenResult
	seenError
	seenMember // any member, known or not
)

// scanEnvelope validates one message and finds its parts. The message must be one JSON object. Keys
// are matched exactly, a known key may occur once, and unknown keys are ignored. With a fault, the
// envelope holds what could be read, so that the response can have the right id.
func scanEnvelope(frame []byte) (e envelope, f *fault) {
	i := jsonscan.Space(frame, 0)
	if i >= len(frame) || frame[i] != '{' {
		if err := jsonscan.Valid(frame); err != nil {
			return e, &fault{CodeParseError, err.Error()}
		}
		return e, &fault{CodeInvalidRequest, "a message must be an object"}
	}
	var seen uint8
	var version []byte
	invalid := func(reason string) {
		if f == nil {
			f = &fault{CodeInvalidRequest, reason}
		}
	}
	for i = jsonscan.Space(frame, i+1); ; {
		if i < len(frame) && frame[i] == '}' && seen == 0 {
			i++ // only after the opening brace: "{}"
			break
		}
		token, at, err := jsonscan.Key(frame, i)
		if err != nil {
			return envelope{}, &fault{CodeParseError, err.Error()}
		}
		if i, err = jsonscan.Value(frame, at); err != nil {
			return envelope{}, &fault{CodeParseError, err.Error()}
		}
		value := frame[at:i]
		name, _ := jsonscan.Unquote(token)
		var bit uint8
		switch string(name) {
		case "jsonrpc":
			bit, version = seenVersion, value
		case "id":
			bit = seenID
			if seen&bit == 0 {
				var ok bool
				if e.id, ok = idFromToken(value); !ok {
					invalid("an id must be a string or a number")
				}
			}
		case "method":
			bit, e.hasMethod = seenMethod, true
			var ok bool
			if e.method, ok = jsonscan.Unquote(value); !ok {
				invalid("method must be a string")
			}
		case "params":
			bit = seenParams
			switch value[0] {
			case '{', '[':
				e.params = value
			case 'n': // many peers send null in place of no params
			default:
				invalid("params must be an object or an array")
			}
		case "result":
			bit, e.result, e.hasResult = seenResult, value, true
		case "error":
			bit, e.err, e.hasError = seenError, value, true
		}
		if seen&bit != 0 {
			invalid(string(name) + " occurs twice")
		}
		seen |= bit | seenMember
		if i = jsonscan.Space(frame, i); i < len(frame) && frame[i] == ',' {
			i = jsonscan.Space(frame, i+1)
			continue
		}
		if i >= len(frame) || frame[i] != '}' {
			return envelope{},
				&fault{CodeParseError,
					(&jsonscan.Error{Offset: i, Reason: "expected ',' or '}' after a member"}).Error()}
		}
		i++
		break
	}
	if i = jsonscan.Space(frame, i); i != len(frame) {
		return envelope{},
			&fault{CodeParseError,
				(&jsonscan.Error{Offset: i, Reason: "text after the value"}).Error()}
	}
	if !jsonscan.KeyIs(version, "2.0") {
		invalid(`jsonrpc must be "2.0"`)
	}
	if e.hasMethod && (e.hasResult || e.hasError) {
		invalid("a message is either a request or a response")
	}
	return e, f
}
