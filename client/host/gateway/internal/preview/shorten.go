package preview

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Cut says what a preview leaves out of one value.
type Cut struct {
	Pointer string `json:"pointer"` // JSON Pointer of the value in the result
	Unit    Unit   `json:"unit"`
	Shown   int    `json:"shown"` // the first units
	Total   int    `json:"total"`

	omitted int // characters
}

const (
	// maxDepth is how deep below a result values are shortened. What is nested deeper is shown as a
	// whole or not at all, and so is JSON in a text of JSON in a text. So the work is linear in the
	// size of the result.
	maxDepth = 16
	// maxParts is how many members or blocks are shortened each. Of more, the first ones are shown.
	maxParts = 10_000
	// maxPointer limits the pointers of cuts in bytes, in the same way.
	maxPointer = 200
	// minInner is the least number of characters for which a part of a unit is shown.
	minInner = 40
)

// A shortener shortens values and records what it leaves out.
type shortener struct {
	cuts   []Cut
	inText bool // the value is in a text that is JSON
}

// value returns a JSON value of at most budget characters, if that is possible, with the first
// units of what is too long in it. The value has depth ancestors.
func (s *shortener) value(v []byte, budget int, pointer string, depth int) []byte {
	size := chars(v)
	if size <= budget {
		return v
	}
	switch v[0] {
	case '"':
		return s.stringToken(v, budget, pointer, depth)
	case '{':
		return s.object(v, size, budget, pointer, depth)
	case '[':
		return s.array(v, size, budget, pointer, depth)
	}
	return v
}

// stringToken is value for a string.
func (s *shortener) stringToken(token []byte, budget int, pointer string, depth int) []byte {
	text, _ := jsonscan.Unquote(token)
	quotes := len(`""`)
	measured := escapedChars
	if inner, ok := container(text); ok && !s.inText {
		s.inText = true
		defer func() { s.inText = false }()
		// Each attempt leaves more room for the escapes.
		mark := len(s.cuts)
		for room := max(budget-quotes, 0); ; room = room * 3 / 4 {
			s.cuts = s.cuts[:mark]
			short := s.value(inner, room, pointer, depth+1)
			if room == 0 || measured(short) <= budget-quotes {
				return jsonscan.AppendString(nil, short)
			}
		}
	}
	return jsonscan.AppendString(nil, s.text(text, budget-quotes, pointer, measured))
}

// text returns the first lines of a text that have at most budget characters together.
func (s *shortener) text(text []byte, budget int, pointer string,
	measure func([]byte) int) []byte {
	shown, total, end, used := 0, 0, 0, 0
	for at := 0; at < len(text); total++ {
		n := line(text[at:])
		if end == at {
			if more := measure(text[at : at+n]); used+more <= budget {
				shown, end, used = shown+1, at+n, used+more
			}
		}
		at += n
	}
	if shown < total {
		s.cuts = append(s.cuts, Cut{pointer, Lines, shown, total, chars(text[end:])})
	}
	return text[:end]
}

// array is value for an array. If not even the first element fits, a part of it is shown.
func (s *shortener) array(v []byte, size, budget int, pointer string, depth int) []byte {
	short, shown, total := first(newSequence(v), budget)
	mark, omitted := len(s.cuts), size-chars(short)
	if inner := pointer + "/0"; shown == 0 && total > 0 && depth < maxDepth &&
		len(inner) <= maxPointer && budget >= minInner {
		for element := range jsonscan.Elements(v) {
			part := s.value(element, budget-len("[]"), inner, depth+1)
			if chars(part) <= budget-len("[]") {
				short, shown = slices.Concat([]byte("["), part, []byte("]")), 1
				omitted = size - chars(element)
			} else {
				s.cuts = s.cuts[:mark]
			}
			break
		}
	}
	if shown < total {
		s.cuts = append(s.cuts, Cut{pointer, Elements, shown, total, omitted})
	}
	return short
}

// first returns an array or object of the first units of a sequence that have at most budget
// characters together.
func first(q sequence, budget int) (short []byte, shown, total int) {
	open, separator, end := q.unit.brackets()
	short = []byte(open)
	used, full := len(open)+len(end), false
	for at := q.start; at < len(q.data); total++ {
		_, stop, next := q.step(at)
		if !full {
			unit := q.data[at:stop]
			more := chars(unit)
			if shown > 0 {
				more += len(separator)
			}
			if full = used+more > budget; !full {
				if shown > 0 {
					short = append(short, separator...)
				}
				short = append(short, unit...)
				used, shown = used+more, shown+1
			}
		}
		at = next
	}
	return append(short, end...), shown, total
}

// A part is a member of an object, or a block of content, that may be shortened.
type part struct {
	key   []byte // the token of the name
	value []byte
	size  int // characters
}

// maxShortened is how many parts of a value are shortened before the first ones are shown instead.
const maxShortened = 20

// largestFirst shortens parts by excess characters in all, the largest first, and returns the
// excess that remains, at most 0 if none does.
func largestFirst(parts []part, excess int, shorten func(i, budget int)) int {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(parts[b].size, parts[a].size)
	})
	for _, i := range order[:min(len(order), maxShortened)] {
		if excess <= 0 {
			break
		}
		before := parts[i].size
		shorten(i, max(before-excess, 0))
		excess -= before - parts[i].size
	}
	return excess
}

// object is value for an object. All its members are shown, unless that is impossible: then the
// first of them.
func (s *shortener) object(v []byte, size, budget int, pointer string, depth int) []byte {
	mark := len(s.cuts)
	if depth < maxDepth {
		var parts []part
		total := len("{}")
		for key, member := range jsonscan.Members(v) {
			if len(parts) == maxParts {
				return s.firstMembers(v, size, budget, pointer)
			}
			p := part{key, member, chars(member)}
			parts = append(parts, p)
			total += p.size + chars(key) + len(":,")
		}
		left := largestFirst(parts, total-budget, func(i, budget int) {
			name, _ := jsonscan.Text(parts[i].key)
			inner := pointer + "/" + jsonscan.EscapePointer(name)
			if len(inner) <= maxPointer {
				parts[i].value = s.value(parts[i].value, budget, inner, depth+1)
				parts[i].size = chars(parts[i].value)
			}
		})
		if left <= 0 {
			short := []byte{'{'}
			for _, p := range parts {
				short = jsonscan.AppendMember(short, p.key, p.value)
			}
			return append(short, '}')
		}
	}
	s.cuts = s.cuts[:mark]
	return s.firstMembers(v, size, budget, pointer)
}

// firstMembers returns an object with the first members of one.
func (s *shortener) firstMembers(v []byte, size, budget int, pointer string) []byte {
	short, shown, total := first(newSequence(v), budget)
	if shown < total {
		s.cuts = append(s.cuts, Cut{pointer, Members, shown, total, size - chars(short)})
	}
	return short
}

// blocks shortens the content of a result, whose texts have size characters, to budget characters
// of text. Blocks without text stay. If even the shortest texts are too many, only the first blocks
// are shown.
func (s *shortener) blocks(content []byte, size, budget int) []byte {
	const pointer = "/content"
	var parts []part
	total := 0
	for block := range jsonscan.Elements(content) {
		if total++; total <= maxParts {
			parts = append(parts, part{value: block, size: textSize(block)})
		}
	}
	left := size - budget
	if total <= maxParts {
		left = largestFirst(parts, left, func(i, budget int) {
			at := pointer + "/" + strconv.Itoa(i)
			parts[i].value = s.block(parts[i].value, budget, at)
			parts[i].size = textSize(parts[i].value)
		})
	}
	if left > 0 {
		s.cuts = nil
		shown, used := 0, 0
		for block := range jsonscan.Elements(content) {
			n := textSize(block)
			if shown == len(parts) || used+n > budget {
				break
			}
			used += n
			parts[shown] = part{value: block, size: n}
			shown++
		}
		parts = parts[:shown]
		if shown < total {
			s.cuts = append(s.cuts, Cut{pointer, Elements, shown, total, size - used})
		}
	}
	short := []byte{'['}
	for i, p := range parts {
		if i > 0 {
			short = append(short, ',')
		}
		short = append(short, p.value...)
	}
	return append(short, ']')
}

// block shortens the text of a block of content to budget characters.
func (s *shortener) block(block []byte, budget int, pointer string) []byte {
	if resource := jsonscan.Member(block, "resource"); len(resource) > 0 && resource[0] == '{' {
		return jsonscan.SetMember(block, "resource",
			s.block(resource, budget, pointer+"/resource"))
	}
	text, ok := jsonscan.Unquote(jsonscan.Member(block, "text"))
	if !ok {
		return block
	}
	pointer += "/text"
	short := text
	if inner, ok := container(text); ok {
		s.inText = true
		short = s.value(inner, budget, pointer, 0)
		s.inText = false
	} else {
		short = s.text(text, budget, pointer, chars)
	}
	return jsonscan.SetMember(block, "text", jsonscan.AppendString(nil, short))
}

// textSize returns the number of characters of text in a block of content.
func textSize(block []byte) int {
	if len(block) == 0 || block[0] != '{' {
		return 0
	}
	if resource := jsonscan.Member(block, "resource"); len(resource) > 0 && resource[0] == '{' {
		return textSize(resource)
	}
	text, _ := jsonscan.Unquote(jsonscan.Member(block, "text"))
	return chars(text)
}

// repeats reports whether the content is a single text, a copy of the structured content.
func repeats(content, structured []byte) bool {
	blocks, same := 0, false
	for block := range jsonscan.Elements(content) {
		blocks++
		text, ok := jsonscan.Unquote(jsonscan.Member(block, "text"))
		if blocks > 1 || !ok {
			return false
		}
		copied, err := jsonscan.AppendCompact(nil, text)
		if err != nil {
			return false
		}
		own, _ := jsonscan.AppendCompact(nil, structured)
		same = bytes.Equal(copied, own)
	}
	return same
}
