package schema

import (
	"embed"
	"fmt"
	"maps"
	"strings"
)

// The dialects that Compile knows, by their URI in $schema. A trailing "#" is ignored, and draft-07
// is also accepted with https.
const (
	Draft07     = "http://json-schema.org/draft-07/schema"
	Draft202012 = "https://json-schema.org/draft/2020-12/schema"
)

// A draftSet is a set of drafts, with a bit for each.
type draftSet uint8

const (
	in07 draftSet = 1 << iota
	in2020

	inBoth = in07 | in2020
)

// A vocabularySet is a set of vocabularies (Core, section 8.1.2), with a bit for each.
type vocabularySet uint16

const (
	core vocabularySet = 1 << iota
	applicator
	unevaluated
	validation
	metaData
	formatAnnotation
	formatAssertion
	content
)

const vocabularyURI = "https://json-schema.org/draft/2020-12/vocab/"

var vocabularies = map[string]vocabularySet{
	"core": core, "applicator": applicator, "unevaluated": unevaluated, "validation": validation,
	"meta-data":         metaData,
	"format-annotation": formatAnnotation, "format-assertion": formatAssertion, "content": content,
}

// A shape says where the value of a keyword has subschemas.
type shape uint8

const (
	noSchema      shape = iota
	oneSchema           // the value is a schema
	listOfSchemas       // its items are schemas
	mapOfSchemas        // the values of its members are schemas, except arrays
	oneOrList           // oneSchema or listOfSchemas
)

// A keyword describes a keyword of JSON Schema. compile adds the value at a node to the subschema s
// that has the keyword; it is nil for a keyword that only holds subschemas.
type keyword struct {
	name         string
	drafts       draftSet
	vocabularies vocabularySet
	shape        shape
	compile      func(c *compiler, s *subschema, at uint32) error
}

var keywords = []keyword{
	{"$ref", inBoth, core, noSchema, compileRef},
	{"$dynamicRef", in2020, core, noSchema, compileDynamicRef},
	{"$defs", in2020, core, mapOfSchemas, nil},
	{"definitions", inBoth, core, mapOfSchemas, nil},

	{"type", inBoth, validation, noSchema, compileType},
	{"enum", inBoth, validation, noSchema, compileEnum},
	{"const", inBoth, validation, noSchema, compileConst},

	{"minimum", inBoth, validation, noSchema, compileBound("minimum", 0, 1, "at least")},
	{"maximum", inBoth, validation, noSchema, compileBound("maximum", -1, 0, "at most")},
	{"exclusiveMinimum", inBoth, validation, noSchema,
		compileBound("exclusiveMinimum", 1, 1, "greater than")},
	{"exclusiveMaximum", inBoth, validation, noSchema,
		compileBound("exclusiveMaximum", -1, -1, "less than")},
	{"multipleOf", inBoth, validation, noSchema, compileMultipleOf},

	{"minLength", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.stringRules().minLength })},
	{"maxLength", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.stringRules().maxLength })},
	{"pattern", inBoth, validation, noSchema, compilePattern},
	{"format", inBoth, formatAnnotation | formatAssertion, noSchema, compileFormat},

	{"prefixItems", in2020, applicator, listOfSchemas,
		compileSchemas(func(s *subschema) *[]*subschema { return &s.arrayRules().prefix })},
	{"items", in2020, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.arrayRules().rest })},
	{"items", in07, applicator, oneOrList, compileItems07},
	{"additionalItems", in07, applicator, oneSchema, compileAdditionalItems},
	{"contains", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.arrayRules().contains })},
	{"minContains", in2020, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.arrayRules().minContains })},
	{"maxContains", in2020, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.arrayRules().maxContains })},
	{"minItems", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.arrayRules().minItems })},
	{"maxItems", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.arrayRules().maxItems })},
	{"uniqueItems", inBoth, validation, noSchema, compileUniqueItems},
	{"unevaluatedItems", in2020, unevaluated, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.unevaluatedRules().items })},

	{"properties", inBoth, applicator, mapOfSchemas, compileProperties},
	{"patternProperties", inBoth, applicator, mapOfSchemas, compilePatternProperties},
	{"additionalProperties", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.objectRules().additional })},
	{"propertyNames", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.objectRules().propertyNames })},
	{"minProperties", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.objectRules().minProperties })},
	{"maxProperties", inBoth, validation, noSchema,
		compileNatural(func(s *subschema) *int { return &s.objectRules().maxProperties })},
	{"required", inBoth, validation, noSchema, compileRequired},
	{"dependentRequired", in2020, validation, noSchema,
		compileDependencies("dependentRequired", namesOnly)},
	{"dependentSchemas", in2020, applicator, mapOfSchemas,
		compileDependencies("dependentSchemas", schemasOnly)},
	{"dependencies", inBoth, applicator, mapOfSchemas,
		compileDependencies("dependencies", namesOrSchemas)},
	{"unevaluatedProperties", in2020, unevaluated, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.unevaluatedRules().properties })},

	{"allOf", inBoth, applicator, listOfSchemas,
		compileSchemas(func(s *subschema) *[]*subschema { return &s.logicRules().allOf })},
	{"anyOf", inBoth, applicator, listOfSchemas,
		compileSchemas(func(s *subschema) *[]*subschema { return &s.logicRules().anyOf })},
	{"oneOf", inBoth, applicator, listOfSchemas,
		compileSchemas(func(s *subschema) *[]*subschema { return &s.logicRules().oneOf })},
	{"not", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.logicRules().not })},
	{"if", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.logicRules().condition })},
	{"then", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.logicRules().then })},
	{"else", inBoth, applicator, oneSchema,
		compileSchema(func(s *subschema) **subschema { return &s.logicRules().otherwise })},

	{"contentSchema", in2020, content, oneSchema, nil},
	{"default", inBoth, metaData, noSchema, compileDefault},
	{"writeOnly", inBoth, metaData, noSchema, compileWriteOnly},
}

// A dialect is a set of keywords.
type dialect struct {
	draft         draftSet
	keywords      map[string]*keyword
	assertFormats bool // it has the format-assertion vocabulary
}

// standardDialects are the built-in dialects, by URI. A compiler has them in a field, because the
// compile functions of the keywords, of which this variable consists, cannot refer to it.
var standardDialects = map[string]*dialect{Draft07: newDialect(in07),
	Draft202012: newDialect(in2020)}

const draft07HTTPS = "https://json-schema.org/draft-07/schema"

func newDialect(d draftSet) *dialect {
	built := &dialect{draft: d, keywords: map[string]*keyword{}}
	for i, k := range keywords {
		if k.drafts&d != 0 {
			built.keywords[k.name] = &keywords[i]
		}
	}
	return built
}

// restrict returns d without the keywords of other vocabularies.
func (d *dialect) restrict(active vocabularySet) *dialect {
	reduced := &dialect{draft: d.draft, keywords: maps.Clone(d.keywords),
		assertFormats: active&formatAssertion != 0}
	maps.DeleteFunc(reduced.keywords,
		func(_ string, k *keyword) bool { return k.vocabularies&active == 0 })
	return reduced
}

// dialect returns the dialect for the URI in a $schema. Any URI but the two built-in ones is that
// of a meta-schema to load (see Options), whose $schema and $vocabulary define the dialect.
func (c *compiler) dialect(uri string) (*dialect, error) {
	uri = strings.TrimSuffix(uri, "#")
	if uri == draft07HTTPS {
		uri = Draft07
	}
	if d := c.standard[uri]; d != nil {
		return d, nil
	}
	if d, ok := c.custom[uri]; ok {
		if d == nil {
			return nil, fmt.Errorf("%w: the meta-schema %s is its own $schema; use a known dialect", ErrDialect, uri)
		}
		return d, nil
	}
	if c.custom == nil {
		c.custom = map[string]*dialect{}
	}
	c.custom[uri] = nil // detects a meta-schema that describes itself
	d, err := c.customDialect(uri)
	if err != nil {
		return nil, err
	}
	c.custom[uri] = d
	return d, nil
}

func (c *compiler) customDialect(uri string) (*dialect, error) {
	meta, err := c.document(uri)
	if err != nil {
		return nil, fmt.Errorf(
			"%w: $schema is %q; only 2020-12, draft-07 and meta-schemas built on them are known: %w",
			ErrDialect, uri, err)
	}
	base, err := c.dialectOf(&meta.index, 0, nil)
	if err != nil {
		return nil, err
	}
	declared := meta.member(0, "$vocabulary")
	if declared == 0 || meta.kind(declared) != object || base.draft == in07 {
		return base, nil
	}
	active := core
	for name, required := range meta.members(declared) {
		name := string(meta.text(name))
		known := vocabularies[strings.TrimPrefix(name, vocabularyURI)]
		if known == 0 || !strings.HasPrefix(name, vocabularyURI) {
			if meta.kind(required) == boolean && meta.isTrue(required) {
				return nil, fmt.Errorf("%w: the meta-schema %s requires the vocabulary %s",
					ErrDialect, uri, name)
			}
			continue
		}
		active |= known
	}
	return c.standard[Draft202012].restrict(active), nil
}

// dialectOf returns the dialect of the schema at a node: that of its $schema or, without one,
// outer, the dialect of the enclosing schema. The default dialect applies if outer is nil.
func (c *compiler) dialectOf(doc *index, n uint32, outer *dialect) (*dialect, error) {
	at := doc.member(n, "$schema")
	switch {
	case at != 0 && doc.kind(at) == str:
		return c.dialect(string(doc.text(at)))
	case at != 0:
		return nil, fmt.Errorf("$schema must be a string, is %s", doc.typeName(at))
	case outer != nil:
		return outer, nil
	}
	return c.dialect(c.DefaultDialect)
}

// metaschemas has the meta-schemas of the known dialects, as published.
//
//go:embed metaschema
var metaschemas embed.FS

// metaschema returns the meta-schema with that URI, or nil if it is not that of a known dialect.
func metaschema(uri string) []byte {
	file := "draft-07"
	if uri != Draft07 {
		rest, ok := strings.CutPrefix(uri, "https://json-schema.org/draft/2020-12/")
		if !ok {
			return nil
		}
		file = "2020-12/" + rest
	}
	data, err := metaschemas.ReadFile("metaschema/" + file + ".json")
	if err != nil {
		return nil
	}
	return data
}
