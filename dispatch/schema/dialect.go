package schema

import (
	"fmt"
	"maps"
	"strings"
)

// The dialects that Compile knows, as in $schema. Draft-07 is also accepted with https and with a
// trailing "#".
const (
	Draft07     = "http://json-schema.org/draft-07/schema"
	Draft202012 = "https://json-schema.org/draft/2020-12/schema"
)

// A draft is a set of drafts.
type draft uint8

const (
	in07 draft = 1 << iota
	in2020

	inBoth = in07 | in2020
)

// A vocabulary is a set of vocabularies (Core, section 8.1.2).
type vocabulary uint16

const (
	core vocabulary = 1 << iota
	applicator
	unevaluated
	validation
	metaData
	formatAnnotation
	formatAssertion
	content
)

const vocabularyURI = "https://json-schema.org/draft/2020-12/vocab/"

var vocabularies = map[string]vocabulary{
	"core": core, "applicator": applicator, "unevaluated": unevaluated, "validation": validation,
	"meta-data":         metaData,
	"format-annotation": formatAnnotation, "format-assertion": formatAssertion, "content": content,
}

// A shape says where the value of a keyword has subschemas.
type shape uint8

const (
	noSchema      shape = iota
	oneSchema           // it is one
	listOfSchemas       // its items are
	mapOfSchemas        // its members' values are, those that are not arrays
	oneOrList           // either of the first two
)

// A keyword says where the subschemas of a keyword are, and how the keyword is compiled into the
// subschema that has it. Without compile it asserts nothing.
type keyword struct {
	name       string
	drafts     draft
	vocabulary vocabulary
	shape      shape
	compile    func(c *compiler, s *subschema, at uint32) error
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
		natural(func(s *subschema) *int { return &s.strings().minLength })},
	{"maxLength", inBoth, validation, noSchema,
		natural(func(s *subschema) *int { return &s.strings().maxLength })},
	{"pattern", inBoth, validation, noSchema, compilePatternKeyword},
	{"format", inBoth, formatAnnotation | formatAssertion, noSchema, compileFormat},

	{"prefixItems", in2020, applicator, listOfSchemas,
		list(func(s *subschema) *[]*subschema { return &s.arrays().prefix })},
	{"items", in2020, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.arrays().rest })},
	{"items", in07, applicator, oneOrList, compileItems07},
	{"additionalItems", in07, applicator, oneSchema, compileAdditionalItems},
	{"contains", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.arrays().contains })},
	{"minContains", in2020, validation, noSchema,
		natural(func(s *subschema) *int { return &s.arrays().minContains })},
	{"maxContains", in2020, validation, noSchema,
		natural(func(s *subschema) *int { return &s.arrays().maxContains })},
	{"minItems", inBoth, validation, noSchema,
		natural(func(s *subschema) *int { return &s.arrays().minItems })},
	{"maxItems", inBoth, validation, noSchema,
		natural(func(s *subschema) *int { return &s.arrays().maxItems })},
	{"uniqueItems", inBoth, validation, noSchema, compileUniqueItems},
	{"unevaluatedItems", in2020, unevaluated, oneSchema,
		one(func(s *subschema) **subschema { return &s.unevaluatedRules().items })},

	{"properties", inBoth, applicator, mapOfSchemas, compileProperties},
	{"patternProperties", inBoth, applicator, mapOfSchemas, compilePatternProperties},
	{"additionalProperties", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.objects().additional })},
	{"propertyNames", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.objects().propertyNames })},
	{"minProperties", inBoth, validation, noSchema,
		natural(func(s *subschema) *int { return &s.objects().minProperties })},
	{"maxProperties", inBoth, validation, noSchema,
		natural(func(s *subschema) *int { return &s.objects().maxProperties })},
	{"required", inBoth, validation, noSchema, compileRequired},
	{"dependentRequired", in2020, validation, noSchema,
		compileDependencies("dependentRequired", namesOnly)},
	{"dependentSchemas", in2020, applicator, mapOfSchemas,
		compileDependencies("dependentSchemas", schemasOnly)},
	{"dependencies", inBoth, applicator, mapOfSchemas,
		compileDependencies("dependencies", namesOrSchemas)},
	{"unevaluatedProperties", in2020, unevaluated, oneSchema,
		one(func(s *subschema) **subschema { return &s.unevaluatedRules().properties })},

	{"allOf", inBoth, applicator, listOfSchemas,
		list(func(s *subschema) *[]*subschema { return &s.logic().allOf })},
	{"anyOf", inBoth, applicator, listOfSchemas,
		list(func(s *subschema) *[]*subschema { return &s.logic().anyOf })},
	{"oneOf", inBoth, applicator, listOfSchemas,
		list(func(s *subschema) *[]*subschema { return &s.logic().oneOf })},
	{"not", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.logic().not })},
	{"if", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.logic().condition })},
	{"then", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.logic().then })},
	{"else", inBoth, applicator, oneSchema,
		one(func(s *subschema) **subschema { return &s.logic().otherwise })},

	{"contentSchema", in2020, content, oneSchema, nil},
	{"default", inBoth, metaData, noSchema, compileDefault},
	{"writeOnly", inBoth, metaData, noSchema, compileWriteOnly},
}

// A dialect is a set of keywords.
type dialect struct {
	draft         draft
	keywords      map[string]*keyword
	assertFormats bool // by its vocabularies
}

// The built-in dialects, by URI. A compiler has them in a field, because the compile functions of
// the keywords, of which this variable consists, cannot refer to it.
var standardDialects = map[string]*dialect{Draft07: newDialect(in07),
	Draft202012: newDialect(in2020)}

const secureDraft07 = "https://json-schema.org/draft-07/schema"

func newDialect(d draft) *dialect {
	built := &dialect{draft: d, keywords: map[string]*keyword{}}
	for i, k := range keywords {
		if k.drafts&d != 0 {
			built.keywords[k.name] = &keywords[i]
		}
	}
	return built
}

// only returns the dialect with these vocabularies of d.
func (d *dialect) only(active vocabulary) *dialect {
	reduced := &dialect{draft: d.draft, keywords: maps.Clone(d.keywords),
		assertFormats: active&formatAssertion != 0}
	maps.DeleteFunc(reduced.keywords,
		func(_ string, k *keyword) bool { return k.vocabulary&active == 0 })
	return reduced
}

// dialect returns the dialect of a $schema. A URI other than the two known ones is that of a
// meta-schema, which is loaded (see Loader); its $schema and $vocabulary define the dialect.
func (c *compiler) dialect(uri string) (*dialect, error) {
	uri = strings.TrimSuffix(uri, "#")
	if uri == secureDraft07 {
		uri = Draft07
	}
	if d := c.standard[uri]; d != nil {
		return d, nil
	}
	if d, ok := c.custom[uri]; ok {
		if d == nil {
			return nil, fmt.Errorf("%w: the meta-schema %s describes itself", ErrDialect, uri)
		}
		return d, nil
	}
	if c.custom == nil {
		c.custom = map[string]*dialect{}
	}
	c.custom[uri] = nil // until it is known
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
	return c.standard[Draft202012].only(active), nil
}

// dialectOf returns the dialect of the schema at a node: that of its $schema or, if it has none,
// the dialect of the schema around it.
func (c *compiler) dialectOf(x *index, n uint32, around *dialect) (*dialect, error) {
	at := x.member(n, "$schema")
	switch {
	case at != 0 && x.kind(at) == str:
		return c.dialect(string(x.text(at)))
	case at != 0:
		return nil, fmt.Errorf("$schema must be a string, is %s", x.typeName(at))
	case around != nil:
		return around, nil
	}
	return c.dialect(c.defaultDialect)
}
