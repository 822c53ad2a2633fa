package mrtr

import (
	"crypto/sha256"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Binding returns a digest of the principal and of a request without the members of its params that
// change from round to round. A requestState is valid only for this digest.
func Binding(method, principal string, params []byte) []byte {
	h := sha256.New()
	add := func(part []byte) {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	add([]byte(method))
	add([]byte(principal))
	rest := []byte{'{'}
	for token, value := range jsonscan.Members(params) {
		name, _ := jsonscan.Unquote(token)
		switch string(name) {
		case "_meta", "inputResponses", "requestState":
		default:
			rest = jsonscan.AppendMember(rest, jsonscan.AppendString(nil, name), value)
		}
	}
	add(Canonical(append(rest, '}')))
	return h.Sum(nil)
}

// Canonical returns JSON in a form that does not depend on white space, escapes and the order of
// members, because a client may encode its request differently when it repeats it.
func Canonical(value []byte) []byte {
	text, err := jsondiff.Canonical(value)
	if err != nil { // nothing, a member that occurs twice, or very deep nesting
		return value
	}
	return text
}
