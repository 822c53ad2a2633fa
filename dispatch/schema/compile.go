package schema

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
)

// Limits of Compile. What exceeds them is refused with ErrLimit.
const (
	maxSchemaBytes = 4 << 20 // the schema and all documents that it refers to
	maxSubschemas  = 100_000 // that can be reached from the root
	// of all regular expressions together, in characters, repetitions written out
	maxPatternSize = 100_000
	maxPatternText = 1 << 20 // bytes of a regular expression as package regexp gets it
	maxURI         = 2048    // bytes of a URI and the base that it is relative to
	maxDivisor     = 100     // digits of a multipleOf
)

// A Schema is a compiled JSON Schema. It does not change and may be used by any number of
// goroutines at a time.
type Schema struct {
	root     *subschema
	dynamic  bool // a $dynamicRef needs to know through which resources it was reached
	defaults bool // there is a default somewhere
	seed     maphash.Seed
	runs     sync.Pool // of *run: the memory of validations that are over
}

// A subschema is one compiled schema object or boolean. The groups of keywords that it does not use
// are nil.
type subschema struct {
	res     *resource
	node    uint32
	verdict verdict
	search  search

	types    typeSet // 0 for any
	values   *valueRules
	numeric  *numericRules
	text     *stringRules
	array    *arrayRules
	object   *objectRules
	applied  *logicRules
	leftover *leftoverRules
	fallback []byte // the default, compact; nil if there is none
}

// A verdict is what is known of a subschema without a look at the instance.
type verdict uint8

const (
	depends verdict = iota
	accepts         // true and {}
	refuses         // false
)

// A search is how far findLoop is with a subschema.
type search uint8

const (
	running search = iota + 1
	over
)

// A CompileOption changes what Compile does.
type CompileOption func(*compiler)

// Loader gives Compile a way to get at the documents that a schema refers to by $ref or $schema and
// that are not in it. load is called with the absolute URI, without fragment, of each such document
// (a relative one if the schema has no $id), and at most once for each as the target of references;
// an error of it makes Compile fail. The meta-schemas of [Draft202012] and [Draft07] are there
// without it. A load that reads from the network lets whoever wrote the schema choose what is
// requested.
func Loader(load func(uri string) ([]byte, error)) CompileOption {
	return func(c *compiler) { c.load = load }
}

// DefaultDialect sets the dialect of schemas that have no $schema: [Draft07] instead of
// [Draft202012].
func DefaultDialect(uri string) CompileOption {
	return func(c *compiler) { c.defaultDialect = uri }
}

// AssertFormats makes format an assertion. Without it, format is an annotation, as the
// specifications have it, unless the schema's meta-schema asks for the format-assertion vocabulary.
func AssertFormats() CompileOption {
	return func(c *compiler) { c.assertFormats = true }
}

// Compile compiles a schema: a JSON object or boolean. It keeps raw, which must not be changed
// afterwards.
//
// The error is a [*SchemaError] that names the keyword at fault, except for text that is not JSON.
// It may wrap [ErrDialect], [ErrReference], [ErrPattern] or [ErrLimit]. What cannot be reached from
// the root, an unused entry of $defs say, is not compiled.
func Compile(raw []byte, options ...CompileOption) (*Schema, error) {
	c := &compiler{
		defaultDialect: Draft202012,
		standard:       standardDialects,
		all:            make([]*subschema, 0, 8),
	}
	for _, option := range options {
		option(c)
	}
	doc, err := c.parse(raw)
	if err != nil {
		return nil, err
	}
	res, err := c.add(doc, "")
	if err != nil {
		return nil, err
	}
	root := c.subschema(res, 0)
	if err := c.drain(); err != nil {
		return nil, err
	}
	for _, s := range c.all {
		if err := s.findLoop(); err != nil {
			return nil, err
		}
		// of use to the compiler only
		s.res.doc.asked, s.res.doc.byName, s.res.doc.byPosition = nil, nil, nil
	}
	return &Schema{root: root, dynamic: len(c.dynamicNames) > 0, defaults: c.defaults,
		seed: maphash.MakeSeed()}, nil
}

// MustCompile is Compile for schemas that are part of the program. It panics if the schema is
// wrong.
func MustCompile(raw string, options ...CompileOption) *Schema {
	s, err := Compile([]byte(raw), options...)
	if err != nil {
		panic(err)
	}
	return s
}

type compiler struct {
	load           func(uri string) ([]byte, error)
	defaultDialect string
	assertFormats  bool

	standard     map[string]*dialect
	custom       map[string]*dialect  // of other meta-schemas, nil while one is being read
	root         *resource            // of the schema itself, as long as nothing else has no URI
	resources    map[string]*resource // all that have one, by URI
	all          []*subschema         // in the order in which they were asked for
	dynamicNames map[string]bool      // that a $dynamicRef looks for
	// those that have a $dynamicAnchor, of the resources in use, by its name
	dynamicIn   map[string][]*resource
	inUse       map[*resource]bool
	defaults    bool
	bytes       int // of all documents
	patternSize int
}

// subschema returns the compiled form of the schema at a node, which is filled in later, so that
// schemas may refer to each other.
func (c *compiler) subschema(res *resource, n uint32) *subschema {
	if inner := res.doc.resources[n]; inner != nil {
		res = inner
	}
	s := res.doc.asked[n]
	if s == nil {
		s = &subschema{res: res, node: n}
		res.doc.asked[n] = s
		c.all = append(c.all, s)
		c.use(res)
	}
	return s
}

// use asks for every schema of a resource that a $dynamicRef may turn out to mean, now or when
// there is one.
func (c *compiler) use(res *resource) {
	if len(res.dynamic) == 0 || c.inUse[res] {
		return
	}
	if c.inUse == nil {
		c.inUse, c.dynamicIn = map[*resource]bool{}, map[string][]*resource{}
	}
	c.inUse[res] = true
	for name := range res.dynamic {
		c.dynamicIn[name] = append(c.dynamicIn[name], res)
		if c.dynamicNames[name] {
			c.addDynamicTarget(res, name)
		}
	}
}

// lookFor has all resources in use asked for what a $dynamicRef may turn out to mean.
func (c *compiler) lookFor(name string) {
	if c.dynamicNames[name] {
		return
	}
	if c.dynamicNames == nil {
		c.dynamicNames = map[string]bool{}
	}
	c.dynamicNames[name] = true
	for _, res := range c.dynamicIn[name] {
		c.addDynamicTarget(res, name)
	}
}

func (c *compiler) addDynamicTarget(res *resource, name string) {
	if res.dynamicSchemas == nil {
		res.dynamicSchemas = map[string]*subschema{}
	}
	res.dynamicSchemas[name] = c.subschema(res, res.dynamic[name])
}

// drain compiles everything that was asked for, and what that asks for.
func (c *compiler) drain() error {
	for i := 0; i < len(c.all); i++ {
		s := c.all[i]
		if i >= maxSubschemas {
			return s.res.errorAt(s.node,
				fmt.Errorf("%w: more than %d subschemas", ErrLimit, maxSubschemas))
		}
		if err := c.compile(s); err != nil {
			return err
		}
	}
	return nil
}

// compile fills in a subschema.
func (c *compiler) compile(s *subschema) error {
	x := &s.res.doc.index
	switch x.kind(s.node) {
	case boolean:
		s.verdict = refuses
		if x.isTrue(s.node) {
			s.verdict = accepts
		}
		return nil
	case object:
	default:
		return s.res.errorAt(s.node,
			fmt.Errorf("a schema must be an object or a boolean, is %s", x.typeName(s.node)))
	}
	if again := x.twice(s.node); again != 0 {
		return s.res.errorAt(again, errors.New("occurs twice"))
	}
	alone := s.res.dialect.draft == in07 && x.member(s.node, "$ref") != 0
	for nameAt, value := range x.members(s.node) {
		k := s.res.dialect.keywords[string(x.text(nameAt))]
		if k == nil || k.compile == nil || alone && k.name != "$ref" {
			continue
		}
		if err := k.compile(c, s, value); err != nil {
			return s.res.errorAt(value, err)
		}
	}
	if s.types == 0 && s.values == nil && s.numeric == nil && s.text == nil && s.array == nil &&
		s.object == nil &&
		s.applied == nil && s.leftover == nil {
		s.verdict = accepts
	}
	return nil
}

// findLoop looks for a subschema that leads back to itself without going down into the instance: it
// could never be decided. On the way back, a subschema without a default gets the first one of
// those that it always applies.
func (s *subschema) findLoop() error {
	switch s.search {
	case running:
		return s.res.errorAt(s.node,
			errors.New("refers to itself for the same instance, so it can never be decided"))
	case over:
		return nil
	}
	s.search = running
	for next := range s.inPlace {
		if err := next.findLoop(); err != nil {
			return err
		}
	}
	s.search = over
	for part := range s.always {
		if s.fallback == nil {
			s.fallback = part.fallback
		}
	}
	return nil
}

// inPlace yields the subschemas that are applied to the same instance.
func (s *subschema) inPlace(yield func(*subschema) bool) {
	if s.applied != nil && !s.applied.each(yield) {
		return
	}
	if s.object != nil {
		for _, d := range s.object.dependencies {
			if d.schema != nil && !yield(d.schema) {
				return
			}
		}
	}
}

// natural makes the compiler of a keyword that holds a non-negative integer.
func natural(field func(*subschema) *int) func(*compiler, *subschema, uint32) error {
	return func(_ *compiler, s *subschema, at uint32) error {
		x := &s.res.doc.index
		d := decimal{}
		if x.kind(at) == number {
			d = parseDecimal(x.raw(at))
		}
		if x.kind(at) != number || d.negative || !d.isInteger() {
			return fmt.Errorf("must be a non-negative integer, is %s", x.describe(at))
		}
		n, ok := d.natural()
		if !ok {
			n = math.MaxInt
		}
		*field(s) = n
		return nil
	}
}

// one makes the compiler of a keyword that holds a schema.
func one(field func(*subschema) **subschema) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		*field(s) = c.subschema(s.res, at)
		return nil
	}
}

// list makes the compiler of a keyword that holds a list of schemas.
func list(field func(*subschema) *[]*subschema) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		x := &s.res.doc.index
		if x.kind(at) != array || x.nodes[at].next == at+1 {
			return fmt.Errorf("must be a list of at least one schema, is %s", x.describe(at))
		}
		for item := range x.items(at) {
			*field(s) = append(*field(s), c.subschema(s.res, item))
		}
		return nil
	}
}
