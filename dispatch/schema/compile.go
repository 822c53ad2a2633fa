package schema

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
)

// Limits of Compile. A schema that exceeds them is an error that wraps ErrLimit.
const (
	maxSchemaBytes = 4 << 20 // the schema and all documents that it refers to
	maxSubschemas  = 100_000 // that can be reached from the root
	// characters of all regular expressions together, with repetitions expanded
	maxPatternSize = 100_000
	maxPatternText = 1 << 20 // bytes of a regular expression after translation for package regexp
	maxURI         = 2048    // bytes of a URI and the base that it is relative to
	maxDivisor     = 100     // digits of a multipleOf
)

// A Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root     *subschema
	dynamic  bool // there is a $dynamicRef, which depends on the path of resources to it
	defaults bool // there is a default somewhere
	seed     maphash.Seed
	runs     sync.Pool // of *run, for reuse
}

// A subschema is one compiled schema object or boolean. A group of keywords without any keyword is
// nil.
type subschema struct {
	res     *resource
	node    uint32
	verdict verdict
	search  search

	types       typeSet // 0 for any
	values      *valueRules
	numeric     *numericRules
	text        *stringRules
	array       *arrayRules
	object      *objectRules
	applied     *logicRules
	unevaluated *unevaluatedRules
	fallback    []byte // the default, compact; nil if there is none
	secret      bool   // messages do not show the values to which it applies
}

// A verdict says whether a subschema has the same result for every instance.
type verdict uint8

const (
	depends verdict = iota
	accepts         // true and {}
	refuses         // false
)

// A search is the state of a subschema in findLoop.
type search uint8

const (
	running search = iota + 1
	over
)

// A CompileOption changes what Compile does.
type CompileOption func(*compiler)

// Loader makes Compile load other documents to which the schema refers by $ref or $schema. Compile
// calls load with the URI of each such document, without fragment. The URI is absolute unless the
// schema has no $id. Load is called at most once for each target of references. If load fails,
// Compile returns its error. The meta-schemas of [Draft202012] and [Draft07] are built in. If load
// reads from the network, the author of the schema decides which requests this program sends.
func Loader(load func(uri string) ([]byte, error)) CompileOption {
	return func(c *compiler) { c.load = load }
}

// DefaultDialect sets the dialect of schemas without $schema. The default is [Draft202012]; the
// other one is [Draft07].
func DefaultDialect(uri string) CompileOption {
	return func(c *compiler) { c.defaultDialect = uri }
}

// AssertFormats makes format an assertion. Without it, format is an annotation, as specified,
// unless the meta-schema of the schema has the format-assertion vocabulary.
func AssertFormats() CompileOption {
	return func(c *compiler) { c.assertFormats = true }
}

// Compile compiles a schema, which is a JSON object or boolean. It retains raw, which must not be
// modified afterwards.
//
// The error is a [*SchemaError] that names the invalid keyword, or another error if raw is not
// JSON. It may wrap [ErrDialect], [ErrReference], [ErrPattern] or [ErrLimit]. A subschema that
// cannot be reached from the root, such as an unused member of $defs, is not compiled.
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

// MustCompile is like Compile but panics if the schema is invalid. It is for schemas that are part
// of the program.
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
	custom       map[string]*dialect  // of other meta-schemas, by URI; nil while one is read
	root         *resource            // of the schema itself
	resources    map[string]*resource // by URI
	all          []*subschema         // in the order of the calls of subschema
	dynamicNames map[string]bool      // names of $dynamicAnchor to which a $dynamicRef refers
	// those that have a $dynamicAnchor, of the resources in use, by its name
	dynamicIn   map[string][]*resource
	inUse       map[*resource]bool
	defaults    bool
	bytes       int // of all documents
	patternSize int
}

// subschema returns the compiled form of the schema at a node. It is filled in later, by drain,
// because schemas may refer to each other.
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

// use compiles the schemas of a resource that may be the target of a $dynamicRef, at once or when
// such a $dynamicRef is compiled.
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

// lookFor compiles, in all resources in use, the schemas with a $dynamicAnchor of that name.
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

// drain compiles all subschemas that subschema has returned, those added meanwhile included.
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
		s.applied == nil && s.unevaluated == nil {
		s.verdict = accepts
	}
	return nil
}

// findLoop returns an error if a subschema applies itself to the same instance, which would never
// end. As it returns, it gives a subschema without a default the first default of the subschemas
// that it always applies, and makes one secret if a subschema for the same instance is.
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
		s.secret = s.secret || next.secret
	}
	s.search = over
	for part := range s.always {
		if s.fallback == nil {
			s.fallback = part.fallback
		}
	}
	return nil
}

// inPlace yields the subschemas that s applies to the same instance.
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

// natural returns the compile function of a keyword whose value is a non-negative integer.
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

// one returns the compile function of a keyword whose value is a schema.
func one(field func(*subschema) **subschema) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		*field(s) = c.subschema(s.res, at)
		return nil
	}
}

// list returns the compile function of a keyword whose value is a list of schemas.
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
