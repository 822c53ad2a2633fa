package schema

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Limits of a validation. If it exceeds them, it ends with ErrLimit.
const (
	// A step is the application of a schema to a value, a visit of a member or item, or a
	// comparison of two values, and bytesPerStep bytes of a string, number or name that is read. A
	// document of n bytes may take baseSteps + stepsPerByte × n steps, so that the time is linear
	// in the size of the document whatever the schema.
	baseSteps    = 1_000_000
	stepsPerByte = 32
	bytesPerStep = 64

	maxNesting = 10_000  // schemas applied within one another
	keptNodes  = 1 << 16 // nodes whose memory is kept for the next validation: 1 MiB
)

// Validate checks that data is one JSON value, nested at most 1000 deep, and valid according to the
// schema. It is stricter than [encoding/json]: data must be UTF-8 without lone surrogates.
//
// The error is an [*Error] if the value is invalid, wraps [ErrLimit] if the validation takes too
// many steps for a document of this size, and is another error if data is not JSON. An object that
// has a property of the schema twice is invalid.
//
// A valid document costs no allocation once a few have been validated, unless the schema reads the
// text of strings with escapes. The time is linear in the size of the document.
func (s *Schema) Validate(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

// ValidateScanned is Validate for data that is known to be one JSON value. For other data the
// result is undefined, but ValidateScanned does not panic.
func (s *Schema) ValidateScanned(data []byte) error {
	if s.root.verdict == accepts {
		return nil
	}
	v := s.get()
	defer s.put(v)
	return v.validate(data)
}

func (s *Schema) get() *run {
	if v, ok := s.runs.Get().(*run); ok {
		return v
	}
	v := &run{schema: s, room: new(room)}
	v.forget()
	return v
}

func (s *Schema) put(v *run) {
	v.forget()
	s.runs.Put(v)
}

// ValidateValue validates the JSON encoding of a Go value. If json.Marshal fails, it returns that
// error.
func (s *Schema) ValidateValue(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

// A run is one validation. Its first pass stops at the first failure and records nothing. If there
// is a failure, a second pass records the causes.
type run struct {
	schema *Schema
	doc    index
	quick  bool
	steps  int   // left
	depth  int   // of eval within eval
	err    error // what ended the run early
	words  []uint64
	scope  []*resource // resources on the path to the current schema, outermost first

	found   []finding
	omitted int
	secret  []uint32 // the values to which secret schemas apply, in the second pass

	room *room // nil in a run that is not reused
}

// A room is memory that is sufficient for most documents.
type room struct {
	nodes [64]node
	words [16]uint64
	scope [8]*resource
}

// A finding is a Cause before its paths are computed.
type finding struct {
	node     uint32
	schema   *subschema
	keyword  string
	property string
	reason   string
	types    typeSet // the types that it requires, if it requires nothing else
	refused  bool    // the reason is followed by the value
	hint     string  // a suggestion, which follows the value
}

func (v *run) validate(data []byte) error {
	if err := v.doc.build(data); err != nil {
		return err
	}
	v.begin(true)
	ok := v.eval(v.schema.root, 0, nil)
	if v.err != nil {
		// whatever the result: under "not", a run that was stopped looks like a success
		return v.err
	}
	if ok {
		return nil
	}
	v.begin(false)
	v.eval(v.schema.root, 0, nil)
	failure := &Error{Omitted: v.omitted}
	for _, f := range v.found {
		failure.Causes = append(failure.Causes, v.cause(f))
	}
	if len(v.found) == 0 {
		// the second pass costs more, so it can reach a limit that the first did not, before the
		// first cause
		failure.Causes = []Cause{{Reason: "does not fit the schema"}}
	}
	return failure
}

func (v *run) cause(f finding) Cause {
	path := f.schema.res.path(f.schema.node)
	if f.keyword != "" {
		path += "/" + f.keyword
	}
	reason := f.reason
	if f.refused && !v.isSecret(f.node) {
		reason += ", not " + v.doc.show(f.node)
	}
	return Cause{v.doc.pointer(0, f.node), path, f.keyword, f.property, reason + f.hint}
}

func (v *run) begin(quick bool) {
	v.quick, v.err, v.depth = quick, nil, 0
	// With an int of 32 bits, the product would overflow for a document of 64 MiB.
	v.steps = baseSteps + stepsPerByte*min(len(v.doc.data), math.MaxInt/2/stepsPerByte)
	v.words, v.scope, v.secret = v.words[:0], v.scope[:0], v.secret[:0]
}

// forget drops the references to the caller's memory, and memory that only an unusually large
// document needs.
func (v *run) forget() {
	v.doc.data, v.found, v.omitted, v.err, v.secret = nil, nil, 0, nil, nil
	if v.doc.nodes == nil || cap(v.doc.nodes) > keptNodes {
		v.doc.nodes = v.room.nodes[:0]
	}
	if v.words == nil || cap(v.words) > keptNodes {
		v.words = v.room.words[:0]
	}
	if v.scope == nil {
		v.scope = v.room.scope[:0]
	}
}

// eval reports whether a schema accepts the value at a node. It adds the positions of the members
// or items that the schema evaluates to evaluated, unless that is nil.
func (v *run) eval(s *subschema, n uint32, evaluated bitset) bool {
	cost := 1
	if k := v.doc.kind(n); k == str || k == number {
		cost += v.stepsFor(n)
	}
	if !v.step(cost) {
		return false
	}
	if s.secret && !v.quick {
		v.hide(n)
	}
	if s.verdict == accepts {
		return true
	}
	if s.verdict == refuses {
		return v.fail(s, n, "", "", "must not be there")
	}
	if v.depth == maxNesting {
		v.stop(fmt.Errorf("%w: schemas apply each other without end", ErrLimit))
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

func (v *run) check(s *subschema, n uint32, evaluated bitset) bool {
	if s.types != 0 && !s.types.has(&v.doc, n) {
		if v.quick {
			return false
		}
		if !v.quiet() {
			v.found = append(v.found, finding{node: n, schema: s, keyword: "type",
				reason: "must be " + s.types.String(), types: s.types, refused: true})
		}
		return false
	}
	outer := evaluated
	if s.unevaluated != nil {
		count := v.doc.count(n)
		if !v.step(count) {
			return false
		}
		evaluated = v.take(count) // only what this schema evaluates counts
	}
	ok := s.values == nil || v.checkValue(s, n)
	if !ok && v.quick {
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
	if s.applied != nil && (ok || !v.quick) {
		ok = v.checkLogic(s, n, evaluated) && ok
	}
	if s.unevaluated != nil && ok {
		// a failed keyword evaluates nothing, so this would report its members again
		ok = v.checkUnevaluated(s, n, evaluated)
		for i := range outer {
			outer[i] |= evaluated[i]
		}
	}
	return ok
}

// step subtracts n steps, and reports whether that many were left.
func (v *run) step(n int) bool {
	if v.steps -= n; v.steps < 0 {
		v.stop(ErrLimit)
		return false
	}
	return true
}

// stop ends the run.
func (v *run) stop(err error) {
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
func (v *run) stepsFor(n uint32) int {
	at := &v.doc.nodes[n]
	return int(at.end-at.start) / bytesPerStep
}

// take returns an empty bitset for n numbers, which is valid until the current schema has been
// applied. Its memory costs steps.
func (v *run) take(n int) bitset {
	const stepsPerWord = 8
	start, words := len(v.words), (n+63)/64
	v.step(words * stepsPerWord)
	for range words {
		v.words = append(v.words, 0)
	}
	return bitset(v.words[start:])
}

// fail records a cause, unless this pass records none, and returns false.
func (v *run) fail(s *subschema, n uint32, keyword, property, format string, args ...any) bool {
	if !v.quiet() {
		v.found = append(v.found, finding{node: n, schema: s, keyword: keyword, property: property,
			reason: fmt.Sprintf(format, args...)})
	}
	return false
}

// refuse is fail for a reason that the value follows: "must be at least 1, not 0".
func (v *run) refuse(s *subschema, n uint32, keyword, format string, args ...any) bool {
	if !v.quiet() {
		v.found = append(v.found, finding{node: n, schema: s, keyword: keyword,
			reason: fmt.Sprintf(format, args...), refused: true})
	}
	return false
}

// quiet reports whether a cause would not be recorded, and counts it if there are too many. The
// text of a cause is composed only if it returns false.
func (v *run) quiet() bool {
	if v.quick || v.err != nil {
		return true
	}
	if len(v.found) < MaxCauses {
		return false
	}
	v.omitted++
	return true
}

func (v *run) add(f finding) {
	if len(v.found) == MaxCauses {
		v.omitted++
		return
	}
	v.found = append(v.found, f)
}
