package printable

import "unicode"

const (
	joiner         = 0x200d
	emojiSelector  = 0xfe0f
	keycap         = 0x20e3
	blackFlag      = 0x1f3f4
	firstModifier  = 0x1f3fb // of the skin tones
	lastModifier   = 0x1f3ff
	firstRegional  = 0x1f1e6
	lastRegional   = 0x1f1ff
	firstFlagTag   = 0xe0020
	lastFlagTag    = 0xe007f
	firstPictogram = 0x1f000
	lastPictogram  = 0x1faff
)

// CharacterLen returns the number of runes of the first character of text, as a person sees it: a
// rune with its combining ones; a flag of two regional indicators or of tags; or an emoji with its
// skin tone, its variation selector, and others that a joiner adds (Unicode Standard Annex 29,
// "Grapheme Cluster Boundary Rules", as far as editing a line needs them).
func CharacterLen(text []rune) int {
	n, first := 1, text[0]
	if first < ' ' {
		return 1
	}
	if isRegional(first) && len(text) > 1 && isRegional(text[1]) {
		n = 2
	}
	for n < len(text) {
		switch r := text[n]; {
		case Combines(r):
		case isModifier(r) && isPictogram(first):
		case first == blackFlag && firstFlagTag <= r && r <= lastFlagTag:
		case text[n-1] == joiner && isPictogram(first) && isPictogram(r):
		default:
			return n
		}
		n++
	}
	return n
}

func isRegional(r rune) bool { return firstRegional <= r && r <= lastRegional }

func isModifier(r rune) bool { return firstModifier <= r && r <= lastModifier }

// isPictogram reports whether r may begin an emoji sequence.
func isPictogram(r rune) bool {
	return firstPictogram <= r && r <= lastPictogram && !isRegional(r) ||
		0x2190 <= r && r <= 0x2bff || unicode.In(r, otherPictograms)
}

var otherPictograms = &unicode.RangeTable{R16: []unicode.Range16{{0x00a9, 0x00ae, 5},
	{0x203c, 0x2049, 13}, {0x2122, 0x2139, 23}, {0x3030, 0x303d, 13}, {0x3297, 0x3299, 2}},
	LatinOffset: 1}

// CellOfCharacter returns the cell of the runes of one character. A sequence that is an emoji takes
// two columns.
func CellOfCharacter(runes []rune) Cell {
	c := CellOf(runes[0])
	if len(runes) == 1 || c.IsReplacement {
		return c
	}
	c.Text = string(runes)
	if isRegional(runes[0]) {
		c.Columns = 2
	}
	for _, r := range runes[1:] {
		if r == keycap || isPictogram(runes[0]) &&
			(r == emojiSelector || isModifier(r) || isPictogram(r)) {
			c.Columns = 2
		}
	}
	return c
}

// Cells yields the cells of a text.
func Cells(text string) func(yield func(Cell) bool) {
	return func(yield func(Cell) bool) {
		for runes := []rune(text); len(runes) > 0; {
			n := CharacterLen(runes)
			if !yield(CellOfCharacter(runes[:n])) {
				return
			}
			runes = runes[n:]
		}
	}
}
