package preview

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// indexed is how many units lie between two of which a view knows the place.
const indexed = 1024

// A View reads the units of one value of a result. It is immutable.
type View struct {
	Pointer string // JSON Pointer of the value in the result
	Unit    Unit
	Total   int // number of units

	sequence
	places []int // of every unit whose number is a multiple of indexed
}

// ErrPointer is returned for a pointer to nothing.
var ErrPointer = errors.New("there is no value at this pointer")

// NewView returns a view of the value at a JSON Pointer (RFC 6901) in a result, a valid JSON text
// that must not be modified. The pointer may lead into a text that is JSON.
func NewView(result []byte, pointer string) (*View, error) {
	value, ok := resolve(result, pointer)
	if !ok {
		return nil, fmt.Errorf("%w: %.200q", ErrPointer, pointer)
	}
	v := &View{Pointer: pointer, sequence: newSequence(value)}
	v.Unit = v.unit
	for at := v.start; at < len(v.data); v.Total++ {
		if v.Total%indexed == 0 {
			v.places = append(v.places, at)
		}
		_, _, at = v.step(at)
	}
	return v, nil
}

// resolve returns the value at a pointer.
func resolve(value []byte, pointer string) (found []byte, ok bool) {
	if pointer == "" {
		return value, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if text, ok := jsonscan.Unquote(value); ok {
			value, _ = container(text)
		}
		if len(value) == 0 {
			return nil, false
		}
		name, next := jsonscan.UnescapePointer(token), []byte(nil)
		if value[0] == '{' {
			next = jsonscan.Member(value, name)
		} else if n, err := strconv.ParseUint(token, 10, 31); err == nil && value[0] == '[' &&
			strconv.FormatUint(n, 10) == token {
			for element := range jsonscan.Elements(value) {
				if n == 0 {
					next = element
					break
				}
				n--
			}
		}
		if next == nil {
			return nil, false
		}
		value = next
	}
	return value, true
}

// A Range is what was read of a view.
type Range struct {
	Pointer string `json:"pointer"`
	Unit    Unit   `json:"unit"`
	Offset  int    `json:"offset"` // number of the first unit
	Count   int    `json:"count"`  // number of units
	Total   int    `json:"total"`  // number of units of the value
	// Next is the offset of the next unit; it is absent at the end.
	Next *int `json:"next,omitempty"`
	// Cuts are in a unit that is too large to be read at once.
	Cuts []Cut `json:"cuts,omitempty"`
	// Text has these lines as they are, or a JSON array, object or value.
	Text []byte `json:"-"`
}

// Read reads units from the one with the number offset on: at most limit and at most maxChars
// characters, but at least one, of which a part is returned if it has more.
func (v *View) Read(offset, limit, maxChars int) (*Range, error) {
	if offset < 0 || offset > v.Total || offset == v.Total && v.Total > 0 {
		return nil, fmt.Errorf("there are %d %s, so that offset must be from 0 to %d", v.Total,
			v.Unit, max(v.Total-1, 0))
	}
	open, separator, end := v.Unit.brackets()
	r := &Range{Pointer: v.Pointer, Unit: v.Unit, Offset: offset, Total: v.Total,
		Text: []byte(open)}
	at := v.start
	if v.Total > 0 {
		at = v.places[offset/indexed]
	}
	for range offset % indexed {
		_, _, at = v.step(at)
	}
	used := len(open) + len(end)
	for at < len(v.data) && r.Count < limit {
		value, stop, next := v.step(at)
		unit := v.data[at:stop]
		n := chars(unit)
		if r.Count > 0 {
			n += len(separator)
		}
		if used+n > maxChars {
			if r.Count > 0 {
				break
			}
			unit, r.Cuts = v.part(at, value, stop, offset, maxChars-used)
			n = maxChars
		}
		if r.Count > 0 {
			r.Text = append(r.Text, separator...)
		}
		r.Text = append(r.Text, unit...)
		used += n
		r.Count++
		at = next
	}
	r.Text = append(r.Text, end...)
	if next := offset + r.Count; next < v.Total {
		r.Next = &next
	}
	return r, nil
}

// part returns a part of a unit that starts at an offset and has its value in data[value:end].
func (v *View) part(start, value, end, number, budget int) (unit []byte, cuts []Cut) {
	if v.Unit == Lines { // it has at most maxPiece characters
		return v.data[start:end], nil
	}
	name := strconv.Itoa(number)
	if v.Unit == Members {
		key, _, _ := jsonscan.Key(v.data, start) // it is valid
		text, _ := jsonscan.Text(key)
		name = jsonscan.EscapePointer(text)
		budget -= chars(v.data[start:value])
	}
	var s shortener
	short := s.value(v.data[value:end], max(budget, 0), v.Pointer+"/"+name, 0)
	return append(v.data[start:value:value], short...), s.cuts
}
