package tap

import (
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Compare returns the differences between the results or errors of two responses, except in members
// whose names are in ignore.
func Compare(old, now []byte, ignore ...string) []jsondiff.Change {
	return jsondiff.Compare(resultOrError(old), resultOrError(now), ignore...)
}

// resultOrError returns a response without its jsonrpc and id members.
func resultOrError(response []byte) []byte {
	dst := []byte{'{'}
	for token, value := range jsonscan.Members(response) {
		if jsonscan.KeyIs(token, "result") || jsonscan.KeyIs(token, "error") {
			dst = jsonscan.AppendMember(dst, token, value)
		}
	}
	return append(dst, '}')
}
