package schema

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// failUnknown reports a property that the schema does not allow, and suggests similar ones.
func (v *run) failUnknown(s *subschema, n uint32, keyword string, name []byte) bool {
	if v.quiet() {
		return false
	}
	const most = 10 // names that are listed
	known := s.properties()
	hint := ""
	if meant := near.Match(string(name), known); meant != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", meant)
	} else if 0 < len(known) && len(known) <= most {
		hint = " (known: " + clip(strings.Join(known, ", ")) + ")"
	}
	return v.fail(s, n, keyword, string(name), "unknown property %q%s", clip(string(name)),
		hint)
}

// properties returns the names of properties that the schema, and the schemas that it always
// applies, declare. It stops after a few steps.
func (s *subschema) properties() (names []string) {
	const most = 1000
	within := []*subschema{s}
	for i := 0; i < len(within) && len(names) < most; i++ {
		if o := within[i].object; o != nil {
			for _, slot := range o.slots[:min(len(o.slots), most)] {
				if slot.schema != nil && slot.schema.verdict != refuses {
					names = append(names, slot.name)
				}
			}
		}
		for part := range within[i].always {
			if len(within) == most {
				break
			}
			within = append(within, part)
		}
	}
	return names
}
