package schema

import (
	"fmt"
	"math"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Limits of a validation. The error for exceeding one of the steps or the depth wraps ErrLimit.
const (
	// A step is the evaluation of a subschema, a visit of a member or item, a comparison of two
	// values, or the reading of bytesPerStep bytes of a string, number or name. A document of n
	// bytes may take baseSteps + stepsPerByte × n steps, so that the time is linear in the size of
	// the document whatever the schema.
	baseSteps    = 1_000_000
	stepsPerByte = 32
	bytesPerStep = 64

	maxEvalDepth   = 10_000  // calls of eval within one another
	maxPooledNodes = 1 << 16 // nodes, 1 MiB, or words whose memory is reused
)

// Validate checks that data is one JSON value, nested at most 1000 deep, and valid against the
// schema. It is stricter than [encoding/json]: data must be UTF-8 without lone surrogates.
//
// The error is an [*Error] if the value is invalid, wraps [ErrLimit] if the validation takes too
// many steps for a document of this size, and is another error if data is not JSON. An object is
// invalid if a property that the schema names occurs twice.
//
// A valid document costs no allocation once a few have been validated, unless a keyword reads the
// text of strings with escapes. The time is linear in the size of the document.
func (s *Schema) Validate(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

// ValidateScanned is [Schema.Validate] for data that is known to be one JSON value. For other data
// the result is undefined, but ValidateScanned does not panic.
func (s *Schema) ValidateScanned(data []byte) error {
	if s.root.validity == alwaysValid {
		return nil
	}
	v := s.get()
	defer s.put(v)
	return v.validate(data)
}

func (s *Schema) get() *validator {
	if v, ok := s.validators.Get().(*validator); ok {
		return v
	}
	v := &validator{schema: s, initial: new(initialBuffers)}
	v.reset()
	return v
}

func (s *Schema) put(v *validator) {
	v.reset()
	s.validators.Put(v)
}

// A validator validates one document at a time. A first pass stops at the first failure and records
// no cause. If there is a failure, a second pass records the causes.
type validator struct {
	schema    *Schema
	doc       index
	firstOnly bool        // the pass stops at the first failure
	steps     int         // left
	depth     int         // number of calls of eval within one another
	err       error       // what stopped the validation
	words     []uint64    // memory of bitsets
	scope     []*resource // the dynamic scope, outermost first

	findings []finding
	omitted  int
	secret   []uint32 // the values to which secret schemas apply, in the second pass

	initial *initialBuffers // nil if the validator is not pooled
}

// initialBuffers are memory that is sufficient for most documents.
type initialBuffers struct {
	nodes [64]node
	words [16]uint64
	scope [8]*resource
}

// A finding is a Cause whose paths are not computed yet.
type finding struct {
	node       uint32
	schema     *subschema
	keyword    string
	property   string
	reason     string
	types      typeSet // the required types, if the cause is a wrong type
	guessed    bool    // another alternative may accept the value
	showsValue bool    // show the value after the reason
	hint       string  // a suggestion, shown after the value
}

func (v *validator) validate(data []byte) error {
	if err := v.doc.build(data); err != nil {
		return err
	}
	v.startPass(true)
	ok := v.eval(v.schema.root, 0, nil)
	if v.err != nil {
		// Below "not", a validation that was stopped looks like a success.
		return v.err
	}
	if ok {
		return nil
	}
	v.startPass(false)
	v.eval(v.schema.root, 0, nil)
	failure := &Error{Omitted: v.omitted}
	for _, f := range v.findings {
		failure.Causes = append(failure.Causes, v.cause(f))
	}
	if len(v.findings) == 0 {
		// The second pass takes more steps, so it can reach the limit before it finds a cause.
		failure.Causes = []Cause{{Reason: "does not match the schema"}}
	}
	return failure
}

func (v *validator) cause(f finding) Cause {
	path := f.schema.res.path(f.schema.node)
	if f.keyword != "" {
		path += "/" + f.keyword
	}
	reason := f.reason
	if f.showsValue && !v.isSecret(f.node) {
		reason += ", not " + v.doc.show(f.node)
	}
	return Cause{v.doc.pointer(0, f.node), path, f.keyword, f.property, reason + f.hint}
}

func (v *validator) startPass(firstOnly bool) {
	v.firstOnly, v.err, v.depth = firstOnly, nil, 0
	// With an int of 32 bits, the product would overflow for a document of 64 MiB.
	v.steps = baseSteps + stepsPerByte*min(len(v.doc.data), math.MaxInt/2/stepsPerByte)
	v.words, v.scope, v.secret = v.words[:0], v.scope[:0], v.secret[:0]
}

// reset drops the references to the caller's memory, and the memory of an unusually large document.
func (v *validator) reset() {
	v.doc.data, v.findings, v.omitted, v.err, v.secret = nil, nil, 0, nil, nil
	if v.doc.nodes == nil || cap(v.doc.nodes) > maxPooledNodes {
		v.doc.nodes = v.initial.nodes[:0]
	}
	if v.words == nil || cap(v.words) > maxPooledNodes {
		v.words = v.initial.words[:0]
	}
	if v.scope == nil {
		v.scope = v.initial.scope[:0]
	}
}

// eval reports whether the value at a node is valid against a subschema. It adds the positions of
// the members or items that the subschema evaluates to evaluated, unless evaluated is nil.
func (v *validator) eval(s *subschema, n uint32, evaluated bitset) bool {
	cost := 1
	if k := v.doc.kind(n); k == str || k == number {
		cost += v.stepsFor(n)
	}
	if !v.step(cost) {
		return false
	}
	if s.secret && !v.firstOnly {
		v.markSecret(n)
	}
	if s.validity == alwaysValid {
		return true
	}
	if s.validity == neverValid {
		return v.fail(s, n, "", "", "must not be present")
	}
	if v.depth == maxEvalDepth {
		v.stop(fmt.Errorf("%w: subschemas apply each other more than %d deep", ErrLimit, maxEvalDepth))
		return false
	}
	v.depth++
	words, scope := len(v.words), len(v.scope)
	if v.schema.dynamic && (scope == 0 || v.scope[scope-1] != s.res) {
		v.scope = append(v.scope, s.res)
	}
	ok := v.check(s, n, evaluated)
	v.words, v.scope = v.words[:words], v.scope[:scope]
	v.depth--
	return ok
}

func (v *validator) check(s *subschema, n uint32, evaluated bitset) bool {
	if s.types != 0 && !s.types.has(&v.doc, n) {
		if v.firstOnly {
			return false
		}
		if !v.discardCause() {
			v.findings = append(v.findings, finding{node: n, schema: s, keyword: "type",
				reason: "must be " + s.types.String(), types: s.types, showsValue: true})
		}
		return false
	}
	outer := evaluated
	if s.unevaluated != nil {
		count := v.doc.count(n)
		if !v.step(count) {
			return false
		}
		evaluated = v.newBitset(count) // only what this subschema evaluates counts
	}
	ok := s.values == nil || v.checkValue(s, n)
	if !ok && v.firstOnly {
		return false
	}
	switch v.doc.kind(n) {
	case number:
		ok = (s.numeric == nil || v.checkNumber(s, n)) && ok
	case str:
		ok = (s.text == nil || v.checkString(s, n)) && ok
	case array:
		ok = (s.array == nil || v.checkArray(s, n, evaluated)) && ok
	case object:
		ok = (s.object == nil || v.checkObject(s, n, evaluated)) && ok
	}
	if s.logic != nil && (ok || !v.firstOnly) {
		ok = v.checkLogic(s, n, evaluated) && ok
	}
	if s.unevaluated != nil && ok {
		// If a keyword failed, it evaluated nothing, and its members would be reported again.
		ok = v.checkUnevaluated(s, n, evaluated)
		for i := range outer {
			outer[i] |= evaluated[i]
		}
	}
	return ok
}

// step takes n steps, and reports whether that many were left.
func (v *validator) step(n int) bool {
	if v.steps -= n; v.steps < 0 {
		v.stop(ErrLimit)
		return false
	}
	return true
}

// stop ends the validation with an error. The first error counts.
func (v *validator) stop(err error) {
	v.steps = -1
	if v.err != nil {
		return
	}
	if v.err = err; err == ErrLimit {
		v.err = fmt.Errorf("%w: the schema takes too many steps for a document of %d bytes",
			ErrLimit, len(v.doc.data))
	}
}

// stepsFor returns the number of steps for reading the text of a string, number or name.
func (v *validator) stepsFor(n uint32) int {
	at := &v.doc.nodes[n]
	return int(at.end-at.start) / bytesPerStep
}

// newBitset returns an empty bitset for n numbers, which is valid until the current eval returns.
// Its memory costs steps.
func (v *validator) newBitset(n int) bitset {
	const stepsPerWord = 8
	start, words := len(v.words), (n+63)/64
	v.step(words * stepsPerWord)
	for range words {
		v.words = append(v.words, 0)
	}
	return bitset(v.words[start:])
}

// fail records a cause, unless discardCause reports true, and returns false.
func (v *validator) fail(s *subschema, n uint32, keyword, property, format string,
	args ...any) bool {
	if !v.discardCause() {
		v.findings = append(v.findings, finding{node: n, schema: s, keyword: keyword,
			property: property, reason: fmt.Sprintf(format, args...)})
	}
	return false
}

// failWithValue is fail for a reason after which the value is shown: "must be at least 1, not 0".
func (v *validator) failWithValue(s *subschema, n uint32, keyword, format string,
	args ...any) bool {
	if !v.discardCause() {
		v.findings = append(v.findings, finding{node: n, schema: s, keyword: keyword,
			reason: fmt.Sprintf(format, args...), showsValue: true})
	}
	return false
}

// discardCause reports whether a cause is not to be recorded, so that its text need not be
// composed. It counts a cause that exceeds maxCauses.
func (v *validator) discardCause() bool {
	if v.firstOnly || v.err != nil {
		return true
	}
	if len(v.findings) < maxCauses {
		return false
	}
	v.omitted++
	return true
}

func (v *validator) addFinding(f finding) {
	if len(v.findings) == maxCauses {
		v.omitted++
		return
	}
	v.findings = append(v.findings, f)
}
