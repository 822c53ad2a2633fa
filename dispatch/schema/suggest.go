package schema

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// failUnknown reports a property that the schema does not allow, and what was probably meant.
func (v *run) failUnknown(s *subschema, n uint32, keyword string, name []byte) bool {
	if v.quick {
		return false
	}
	const most = 10 // names that are listed
	var known []string
	for property := range s.properties {
		known = append(known, property)
	}
	hint := ""
	if meant := near.Match(string(name), known); meant != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", meant)
	} else if 0 < len(known) && len(known) <= most {
		hint = " (known: " + strings.Join(known, ", ") + ")"
	}
	return v.fail(s, n, keyword, string(name), "unknown property %q%s", string(name), hint)
}

// properties yields the names that the schema declares, those of the schemas that it always applies included.
func (s *subschema) properties(yield func(string) bool) {
	s.eachProperty(yield, 8)
}

func (s *subschema) eachProperty(yield func(string) bool, depth int) bool {
	if depth == 0 {
		return true
	}
	if s.object != nil {
		for _, slot := range s.object.slots {
			if slot.schema != nil && slot.schema.verdict != refuses && !yield(slot.name) {
				return false
			}
		}
	}
	for part := range s.always {
		if !part.eachProperty(yield, depth-1) {
			return false
		}
	}
	return true
}
