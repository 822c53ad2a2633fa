package toolsearch

import "github.com/stdwire/stdwire/internal/jsonscan"

// A field is a part of the definition of a tool.
type field int

const (
	nameField field = iota
	titleField
	descriptionField
	parameterField     // names of parameters
	parameterTextField // titles, descriptions and enumerated values of parameters
	serverField
	fieldCount
)

// A rule says how the words of a field count: weight is what a word counts in a field of the usual
// number of words, and most how many words count at all.
type rule struct {
	name          string
	weight, usual float64
	most          int
}

var rules = [fieldCount]rule{
	nameField:          {"name", 3, 4, 16},
	titleField:         {"title", 1, 4, 16},
	descriptionField:   {"description", 1, 16, 200},
	parameterField:     {"parameter", .5, 8, 128},
	parameterTextField: {"parameter description", .3, 24, 256},
	serverField:        {"server", 1, 2, 8},
}

// The parameters of BM25. The usual lengths of fields are constants, not averages, so that a word
// of a tool counts the same whatever other tools there are.
const (
	saturation = 2.0 // k1: the fields that have a word count at most 1+k1 together
	slope      = .6  // b: how much of the weight depends on the number of words
)

// of returns what a word counts in a field with n different words.
func (r *rule) of(n int) float64 { return r.weight / (1 - slope + slope*float64(n)/r.usual) }

const (
	maxText  = 32 << 10 // bytes of the texts of a definition that are read
	maxDepth = 6        // of parameters in parameters
)

// A reader collects the texts of a definition.
type reader struct {
	texts [fieldCount][]string
	left  int // bytes
}

// textsOf returns the texts of each field of a tool.
func textsOf(t *Tool) [fieldCount][]string {
	r := reader{left: maxText}
	r.texts[nameField] = []string{t.Name}
	r.texts[serverField] = []string{t.Server}
	if jsonscan.Valid(t.Definition) != nil {
		return r.texts
	}
	r.add(titleField, jsonscan.Member(t.Definition, "title"))
	r.add(titleField, jsonscan.Member(jsonscan.Member(t.Definition, "annotations"), "title"))
	r.add(descriptionField, jsonscan.Member(t.Definition, "description"))
	r.addSchema(jsonscan.Member(t.Definition, "inputSchema"), maxDepth)
	return r.texts
}

// add adds the text of a JSON string; it adds nothing of another value.
func (r *reader) add(f field, token []byte) {
	text, _ := jsonscan.Text(token)
	text = truncate(text, r.left)
	if text != "" {
		r.left -= len(text)
		r.texts[f] = append(r.texts[f], text)
	}
}

// addSchema adds the properties of a schema and of the schemas in it.
func (r *reader) addSchema(schema []byte, depth int) {
	if depth == 0 {
		return
	}
	for key, value := range jsonscan.Members(schema) {
		switch keyword, _ := jsonscan.Text(key); keyword {
		case "properties":
			for name, property := range jsonscan.Members(value) {
				r.add(parameterField, name)
				r.add(parameterTextField, jsonscan.Member(property, "title"))
				r.add(parameterTextField, jsonscan.Member(property, "description"))
				for element := range jsonscan.Elements(jsonscan.Member(property, "enum")) {
					r.add(parameterTextField, element)
				}
				r.addSchema(property, depth-1)
			}
		case "items", "additionalProperties":
			r.addSchema(value, depth-1)
		case "anyOf", "oneOf", "allOf":
			for element := range jsonscan.Elements(value) {
				r.addSchema(element, depth-1)
			}
		case "$defs", "definitions":
			for _, definition := range jsonscan.Members(value) {
				r.addSchema(definition, depth-1)
			}
		}
	}
}
