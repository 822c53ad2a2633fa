// Package listpage cuts the pages of lists to what a client may keep, and tells pages apart.
package listpage

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/client/internal/object"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Limits of the definition of a tool, resource, template or prompt. Whoever lists definitions
// compiles, compares and shows them, and a server must not choose how long that takes.
const (
	maxDefinition        = 1 << 20 // in bytes
	maxDefinitionObjects = 20_000  // each may be a subschema or a reference
	maxDefinitionDepth   = 200     // of nested objects and arrays
)

// definitionLists are the members of results that hold definitions.
var definitionLists = []string{"tools", "resources", "resourceTemplates", "prompts"}

// Cut returns a page without the definitions over the limits, and calls report with the list, the
// name and the reason of each. If there are none, it returns page itself, which must be valid JSON.
func Cut(page json.RawMessage, report func(list, name string, reason error)) json.RawMessage {
	if !slices.ContainsFunc(definitionLists,
		func(key string) bool { return hasOversized(jsonscan.Member(page, key)) }) {
		return page
	}
	o := object.Open(make([]byte, 0, len(page)))
	for name, value := range jsonscan.Members(page) {
		if key, _ := jsonscan.Text(name); slices.Contains(definitionLists, key) {
			value = filter(key, value, report)
		}
		o.Member(name, value)
	}
	return o.Close()
}

func hasOversized(list []byte) bool {
	for definition := range jsonscan.Elements(list) {
		if checkDefinitionSize(definition) != nil {
			return true
		}
	}
	return false
}

// filter returns a list without the definitions over the limits.
func filter(key string, list []byte, report func(list, name string, reason error)) []byte {
	kept := []byte{'['}
	for definition := range jsonscan.Elements(list) {
		if err := checkDefinitionSize(definition); err != nil {
			name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
			report(key, name, err)
			continue
		}
		kept = jsonscan.AppendElement(kept, definition)
	}
	return append(kept, ']')
}

// checkDefinitionSize returns an error that names the exceeded limit, or nil.
func checkDefinitionSize(definition []byte) error {
	if len(definition) > maxDefinition {
		return fmt.Errorf("it has %d bytes; at most %d are allowed", len(definition), maxDefinition)
	}
	objects, depth, deepest := 0, 0, 0
	for i := 0; i < len(definition); i++ {
		switch definition[i] {
		case '"':
			for i++; i < len(definition) && definition[i] != '"'; i++ {
				if definition[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if definition[i] == '{' {
				objects++
			}
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	switch {
	case objects > maxDefinitionObjects:
		return fmt.Errorf("it has %d objects; at most %d are allowed", objects,
			maxDefinitionObjects)
	case deepest > maxDefinitionDepth:
		return fmt.Errorf("it is nested %d deep; at most %d are allowed", deepest,
			maxDefinitionDepth)
	}
	return nil
}

// Sum returns a digest of a page and its cursor, without what may differ each time.
func Sum(page []byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	for name, value := range jsonscan.Members(page) {
		if !jsonscan.KeyIs(name, "_meta") && !jsonscan.KeyIs(name, "ttlMs") {
			h.Write(name)
			h.Write(value)
		}
	}
	h.Sum(sum[:0])
	return sum
}
