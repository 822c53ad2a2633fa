package schema

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Limits of a validation. What exceeds them ends it with ErrLimit.
const (
	// A step is a schema applied to a value, a member or item passed by, or two values compared;
	// and one more for every bytesPerStep of a string, a number or a name that is looked at. A
	// document of n bytes may take baseSteps + stepsPerByte × n of them, so that time stays linear
	// in the size of the document whatever the schema.
	baseSteps    = 1_000_000
	stepsPerByte = 32
	bytesPerStep = 64

	maxNesting = 10_000  // schemas applied within one another
	keptNodes  = 1 << 16 // nodes whose memory is kept for the next validation: 1 MiB
)

// Validate checks a JSON text: that it is one JSON value, without anything that [encoding/json]
// would let pass but others refuse, nested at most 1000 deep; and that this value fits the schema.
//
// The error is an [*Error] for a value that does not fit, one that wraps [ErrLimit] if that could
// not be found out with the work that a document of this size may cause, and anything else if data
// is not JSON. An object that has a property twice that the schema declares does not fit.
//
// A valid document costs no allocation once a few have been validated, unless strings in it hold
// escapes and the schema looks at what they spell. Time is linear in the size of the document.
func (s *Schema) Validate(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

// ValidateScanned is Validate without the check that data is one JSON value, for text that has
// passed such a check. For other text it returns something, without panic.
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

// ValidateValue checks what [encoding/json] makes of a Go value. If it makes nothing of it, the
// error is json.Marshal's.
func (s *Schema) ValidateValue(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

// A run is one validation. It goes over the document quickly first, stopping at the first failure
// and noting nothing; only if there is one it goes again, for the causes.
type run struct {
	schema *Schema
	doc    index
	quick  bool
	steps  int   // left
	depth  int   // of eval within eval
	err    error // what ended the run early
	words  []uint64
	scope  []*resource // through which the schema being applied was reached, outermost first

	found   []finding
	omitted int

	room *room // nil in a run that is not kept
}

// A room is memory that is enough for most documents.
type room struct {
	nodes [64]node
	words [16]uint64
	scope [8]*resource
}

// A finding is a Cause in the making.
type finding struct {
	node     uint32
	schema   *subschema
	keyword  string
	property string
	reason   string
}

func (v *run) validate(data []byte) error {
	if err := v.doc.build(data); err != nil {
		return err
	}
	v.begin(true)
	ok := v.eval(v.schema.root, 0, nil)
	if v.err != nil {
		// whatever was made of it: under "not", a run that was stopped looks like a success
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
	return Cause{v.doc.pointer(0, f.node), path, f.keyword, f.property, f.reason}
}

func (v *run) begin(quick bool) {
	v.quick, v.err, v.depth = quick, nil, 0
	// Where an int has 32 bits, the product of a document of 64 MiB would not fit into one.
	v.steps = baseSteps + stepsPerByte*min(len(v.doc.data), math.MaxInt/2/stepsPerByte)
	v.words, v.scope = v.words[:0], v.scope[:0]
}

// forget lets go of what belongs to the caller, and of memory that only an unusually large document
// needs.
func (v *run) forget() {
	v.doc.data, v.found, v.omitted, v.err = nil, nil, 0, nil
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

// eval reports whether the value at a node fits a schema. The positions of the members or items
// that the schema applies to are set in evaluated, unless that is nil.
func (v *run) eval(s *subschema, n uint32, evaluated bitset) bool {
	cost := 1
	if k := v.doc.kind(n); k == str || k == number {
		cost += v.stepsFor(n)
	}
	if !v.step(cost) {
		return false
	}
	if s.verdict == accepts {
		return true
	}
	if s.verdict == refuses {
		return v.fail(s, n, "", "", "is not allowed here")
	}
	if v.depth == maxNesting {
		v.stop(fmt.Errorf("%w: schemas apply one another without end", ErrLimit))
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
		return v.fail(s, n, "type", "", "must be %s, is %s", s.types, v.doc.typeName(n))
	}
	outer := evaluated
	if s.leftover != nil {
		count := v.doc.count(n)
		if !v.step(count) {
			return false
		}
		evaluated = v.take(count) // what others evaluated does not count for this one
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
	if s.leftover != nil && ok {
		// a failed keyword evaluates nothing, so what is left over would be no news
		ok = v.checkLeftover(s, n, evaluated)
		for i := range outer {
			outer[i] |= evaluated[i]
		}
	}
	return ok
}

// step pays for n steps and reports whether there were as many left.
func (v *run) step(n int) bool {
	if v.steps -= n; v.steps < 0 {
		v.stop(ErrLimit)
		return false
	}
	return true
}

// stop ends the run: nothing is evaluated any more.
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

// stepsFor is how many steps it takes to look at the text of a string, a number or a name.
func (v *run) stepsFor(n uint32) int {
	at := &v.doc.nodes[n]
	return int(at.end-at.start) / bytesPerStep
}

// take returns an empty bitset for n numbers, which lives until the schema being applied is done.
// Its memory costs steps.
func (v *run) take(n int) bitset {
	const stepsPerWord = 8
	start, words := len(v.words), (n+63)/64
	v.step(words * stepsPerWord)
	for range words {
		v.words = append(v.words, 0)
	}
	return bitset(v.words[start:])
}

// fail notes a cause, unless this pass wants none, and returns false.
func (v *run) fail(s *subschema, n uint32, keyword, property, format string, args ...any) bool {
	if !v.quiet() {
		v.found = append(v.found, finding{n, s, keyword, property, fmt.Sprintf(format, args...)})
	}
	return false
}

// quiet reports whether a cause would not be noted, and counts it if it is one too many. What it
// costs to find words for a cause is spent only if it is not.
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
