package tap

import (
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Compare returns what is different between two answers: in their results and their errors, without the members of the names to ignore.
func Compare(old, now []byte, ignore ...string) []jsondiff.Change {
	a, errA := jsondiff.Canonical(outcome(old))
	b, errB := jsondiff.Canonical(outcome(now))
	if errA != nil || errB != nil { // a member is there twice, or it is nested too deeply: what is the same is what is written the same
		a, b = outcome(old), outcome(now)
		if string(a) == string(b) {
			return nil
		}
		return []jsondiff.Change{{Old: string(a), New: string(b)}}
	}
	return jsondiff.Diff(a, b, ignore...)
}

// outcome is a response without what makes it a response.
func outcome(response []byte) []byte {
	dst := []byte{'{'}
	for token, value := range jsonscan.Members(response) {
		if jsonscan.KeyIs(token, "result") || jsonscan.KeyIs(token, "error") {
			dst = append(append(append(append(dst, token...), ':'), value...), ',')
		}
	}
	return closed(dst, '{', '}')
}
