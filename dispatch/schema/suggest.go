package schema

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// failUnknown records a property that the schema does not allow, and suggests a similar one.
func (v *validator) failUnknown(s *subschema, n uint32, keyword string, name []byte) bool {
	if v.discardCause() {
		return false
	}
	const maxKnown = 10 // known names in the message
	known := s.properties()
	hint := ""
	if similar := near.Match(string(name), known); similar != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", similar)
	} else if 0 < len(known) && len(known) <= maxKnown {
		hint = " (known: " + truncate(strings.Join(known, ", ")) + ")"
	}
	return v.fail(s, n, keyword, string(name), "unknown property %q%s", truncate(string(name)),
		hint)
}

// properties returns the names of the properties that a schema, and the subschemas that it applies
// unconditionally, declare. It reads at most 1000 subschemas, so some names may be missing.
func (s *subschema) properties() (names []string) {
	const most = 1000
	within := []*subschema{s}
	for i := 0; i < len(within) && len(names) < most; i++ {
		if o := within[i].object; o != nil {
			for _, slot := range o.slots[:min(len(o.slots), most)] {
				if slot.schema != nil && slot.schema.validity != neverValid {
					names = append(names, slot.name)
				}
			}
		}
		for part := range within[i].unconditional {
			if len(within) == most {
				break
			}
			within = append(within, part)
		}
	}
	return names
}
