package schema

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/dispatch/schema/internal/ecma262"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Limits of Compile. The error for a schema that exceeds one wraps ErrLimit.
const (
	maxSchemaBytes = 4 << 20 // of the schema and all documents that it refers to
	maxSubschemas  = 100_000 // that can be reached from the root
	// characters of all regular expressions together, with repetitions expanded
	maxPatternSize = ecma262.MaxSize
	maxURI         = 2048 // bytes of a URI reference and its base together
	maxDivisor     = 100  // digits of a multipleOf
)

// A Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root       *subschema
	dynamic    bool // it has a $dynamicRef, so validation tracks the dynamic scope
	defaults   bool // it has a default
	seed       maphash.Seed
	validators sync.Pool // of *validator
}

// A subschema is one compiled schema object or boolean. Its pointers to rules are nil if it has no
// keyword of that group.
type subschema struct {
	res      *resource
	node     uint32
	validity validity
	visit    visitState

	types        typeSet // 0 for any
	values       *valueRules
	numeric      *numericRules
	text         *stringRules
	array        *arrayRules
	object       *objectRules
	logic        *logicRules
	unevaluated  *unevaluatedRules
	defaultValue []byte // compact JSON; nil if there is none
	secret       bool   // error messages do not show the instances to which it applies
}

// validity says which instances are valid against a subschema.
type validity uint8

const (
	dependsOnInstance validity = iota
	alwaysValid                // as for true and {}
	neverValid                 // as for false
)

// A visitState is the state of a subschema in the depth-first search of findLoop.
type visitState uint8

const (
	visiting visitState = iota + 1
	visited
)

// Options say how a schema is compiled.
type Options struct {
	// Load returns the other documents to which the schema refers by $ref, $dynamicRef or $schema.
	// It is called with the URI of each such document, without fragment: at most once for
	// references and at most once for $schema. The URI is relative if neither the reference nor the
	// schema's $id is absolute. If Load fails, the error of Compile wraps its error. The
	// meta-schemas of [Draft202012] and [Draft07] are built in. If Load reads from the network, the
	// author of the schema decides which requests this program sends.
	Load func(uri string) ([]byte, error)
	// DefaultDialect is the dialect of schemas without $schema: [Draft202012], which is the
	// default, [Draft07], or the URI of a meta-schema that Load returns.
	DefaultDialect string
	// AssertFormats makes format an assertion. Otherwise format is an annotation, as specified,
	// unless the schema's meta-schema has the format-assertion vocabulary.
	AssertFormats bool
}

// Compile compiles a schema with the default [Options].
func Compile(raw []byte) (*Schema, error) { return Options{}.Compile(raw) }

// Compile compiles a schema, which is a JSON object or boolean. It retains raw, which must not be
// modified afterwards.
//
// The error names the location of the invalid keyword, unless raw is too large or not JSON. It may
// wrap [ErrDialect], [ErrReference], [ErrPattern] or [ErrLimit]. A subschema that cannot be reached
// from the root, such as an unused member of $defs, is not compiled.
func (o Options) Compile(raw []byte) (*Schema, error) {
	c := &compiler{
		Options:    o,
		standard:   standardDialects,
		subschemas: make([]*subschema, 0, 8),
	}
	c.DefaultDialect = cmp.Or(c.DefaultDialect, Draft202012)
	doc, err := c.parse(raw)
	if err != nil {
		return nil, err
	}
	res, err := c.addDocument(doc, "")
	if err != nil {
		return nil, err
	}
	root := c.subschema(res, 0)
	if err := c.compileAll(); err != nil {
		return nil, err
	}
	for _, s := range c.subschemas {
		if err := s.findLoop(); err != nil {
			return nil, err
		}
		// only the compiler needs them
		s.res.doc.subschemas, s.res.doc.byName, s.res.doc.byPosition = nil, nil, nil
	}
	return &Schema{root: root, dynamic: len(c.dynamicNames) > 0, defaults: c.defaults,
		seed: maphash.MakeSeed()}, nil
}

// MustCompile is like Compile but panics if the schema is invalid. It is for schemas that are part
// of the program.
func MustCompile(raw string) *Schema {
	s, err := Compile([]byte(raw))
	if err != nil {
		panic(err)
	}
	return s
}

// A compiler compiles one schema, with the documents to which it refers. The methods and the
// compile functions of keywords take a node of a document's index as n or, for the value of a
// keyword, at.
type compiler struct {
	Options
	standard     map[string]*dialect
	custom       map[string]*dialect  // by URI of the meta-schema; nil while it is read
	root         *resource            // of the schema itself
	resources    map[string]*resource // by URI
	subschemas   []*subschema         // in the order of the calls of subschema
	dynamicNames map[string]bool      // names of $dynamicAnchor to which a $dynamicRef refers
	// the resources in use that have a $dynamicAnchor, by its name
	dynamicResources map[string][]*resource
	inUse            map[*resource]bool
	defaults         bool
	bytes            int // of all documents
	patternSize      int
}

// subschema returns the subschema of the schema at a node. compileAll fills it in later, because
// schemas may refer to each other.
func (c *compiler) subschema(res *resource, n uint32) *subschema {
	if inner := res.doc.resources[n]; inner != nil {
		res = inner
	}
	s := res.doc.subschemas[n]
	if s == nil {
		s = &subschema{res: res, node: n}
		res.doc.subschemas[n] = s
		c.subschemas = append(c.subschemas, s)
		c.useResource(res)
	}
	return s
}

// useResource compiles the schemas with a $dynamicAnchor in a resource that is used for the first
// time, if a $dynamicRef to the anchor has been compiled. compileDynamicAnchors does so for later
// ones.
func (c *compiler) useResource(res *resource) {
	if len(res.dynamicAnchors) == 0 || c.inUse[res] {
		return
	}
	if c.inUse == nil {
		c.inUse, c.dynamicResources = map[*resource]bool{}, map[string][]*resource{}
	}
	c.inUse[res] = true
	for name := range res.dynamicAnchors {
		c.dynamicResources[name] = append(c.dynamicResources[name], res)
		if c.dynamicNames[name] {
			c.addDynamicTarget(res, name)
		}
	}
}

// compileDynamicAnchors compiles the schemas with a $dynamicAnchor of that name in all resources in
// use.
func (c *compiler) compileDynamicAnchors(name string) {
	if c.dynamicNames[name] {
		return
	}
	if c.dynamicNames == nil {
		c.dynamicNames = map[string]bool{}
	}
	c.dynamicNames[name] = true
	for _, res := range c.dynamicResources[name] {
		c.addDynamicTarget(res, name)
	}
}

func (c *compiler) addDynamicTarget(res *resource, name string) {
	if res.dynamicSchemas == nil {
		res.dynamicSchemas = map[string]*subschema{}
	}
	res.dynamicSchemas[name] = c.subschema(res, res.dynamicAnchors[name])
}

// compileAll compiles all subschemas that subschema has returned, including those added meanwhile.
func (c *compiler) compileAll() error {
	for i := 0; i < len(c.subschemas); i++ {
		s := c.subschemas[i]
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
	doc := &s.res.doc.index
	switch doc.kind(s.node) {
	case boolean:
		s.validity = neverValid
		if doc.isTrue(s.node) {
			s.validity = alwaysValid
		}
		return nil
	case object:
	default:
		return s.res.errorAt(s.node,
			fmt.Errorf("a schema must be an object or a boolean, is %s", doc.typeName(s.node)))
	}
	if duplicate := doc.duplicateMember(s.node); duplicate != 0 {
		return s.res.errorAt(duplicate, errors.New("the keyword occurs twice"))
	}
	// draft-07 ignores the keywords beside $ref
	refOnly := s.res.dialect.draft == in07 && doc.member(s.node, "$ref") != 0
	for nameAt, value := range doc.members(s.node) {
		k := s.res.dialect.keywords[string(doc.text(nameAt))]
		if k == nil || k.compile == nil || refOnly && k.name != "$ref" {
			continue
		}
		if err := k.compile(c, s, value); err != nil {
			return s.res.errorAt(value, err)
		}
	}
	if s.types == 0 && s.values == nil && s.numeric == nil && s.text == nil && s.array == nil &&
		s.object == nil &&
		s.logic == nil && s.unevaluated == nil {
		s.validity = alwaysValid
	}
	return nil
}

// findLoop returns an error if a subschema applies itself to the same instance, because validation
// would never end. It also propagates annotations: a subschema without a default gets the first one
// of the subschemas that it applies unconditionally, and it becomes secret if a subschema that it
// applies to the same instance is.
func (s *subschema) findLoop() error {
	switch s.visit {
	case visiting:
		return s.res.errorAt(s.node,
			errors.New("applies itself to the same instance, so validation would never end"))
	case visited:
		return nil
	}
	s.visit = visiting
	for next := range s.inPlace {
		if err := next.findLoop(); err != nil {
			return err
		}
		s.secret = s.secret || next.secret
	}
	s.visit = visited
	for part := range s.unconditional {
		if s.defaultValue == nil {
			s.defaultValue = part.defaultValue
		}
	}
	return nil
}

// inPlace yields the subschemas that s applies to the same instance, except the target of a
// $dynamicRef.
func (s *subschema) inPlace(yield func(*subschema) bool) {
	if s.logic != nil && !s.logic.subschemas(yield) {
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

// compileNatural returns the compile function of a keyword whose value is a non-negative integer.
func compileNatural(field func(*subschema) *int) func(*compiler, *subschema, uint32) error {
	return func(_ *compiler, s *subschema, at uint32) error {
		doc := &s.res.doc.index
		d := jsonscan.Decimal{}
		if doc.kind(at) == number {
			d = jsonscan.ParseDecimal(doc.raw(at))
		}
		if doc.kind(at) != number || d.Negative || !d.IsInteger() {
			return fmt.Errorf("must be a non-negative integer, is %s", doc.describe(at))
		}
		n, ok := jsonscan.Int(doc.raw(at), strconv.IntSize)
		if !ok {
			n = math.MaxInt
		}
		*field(s) = int(n)
		return nil
	}
}

// compileSchema returns the compile function of a keyword whose value is a schema.
func compileSchema(field func(*subschema) **subschema) func(*compiler, *subschema, uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		*field(s) = c.subschema(s.res, at)
		return nil
	}
}

// compileSchemas returns the compile function of a keyword whose value is an array of schemas.
func compileSchemas(field func(*subschema) *[]*subschema) func(*compiler, *subschema,
	uint32) error {
	return func(c *compiler, s *subschema, at uint32) error {
		doc := &s.res.doc.index
		if doc.kind(at) != array || doc.nodes[at].next == at+1 {
			return fmt.Errorf("must be an array of at least one schema, is %s", doc.describe(at))
		}
		for item := range doc.items(at) {
			*field(s) = append(*field(s), c.subschema(s.res, item))
		}
		return nil
	}
}
