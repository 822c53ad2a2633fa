package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWhole is the number of characters up to which texts are shown whole.
	maxWhole = 200
	// surroundings is how many characters are shown on each side of a difference.
	surroundings = 40
	// minElided is the smallest number of characters that … stands for.
	minElided = 20
	// maxAligned limits the product of the numbers of words that are aligned with each other.
	maxAligned = 1 << 20
	// maxCompared is how many characters of two texts [looksEqual] compares.
	maxCompared = 2000
)

// Difference returns two different JSON texts, each on one line, so that a person sees how they
// differ. Of a text with more than 200 characters it shows each span that differs, with up to 40
// characters of the equal text on each side of it; … stands for the rest of an equal part.
// Invisible characters, and white space other than a space, are spelled out, as in \u202e; so are
// letters that make a word look like one in ASCII. Where two spans still look equal, or nearly
// so, all that could be mistaken is spelled out.
//
// With a limit above 0, which should be at least 200, each text ends after that many characters and
// says how many follow.
func Difference(old, now string, limit int) (oldShown, nowShown string) {
	var a, b strings.Builder
	parts := align(old, now)
	short := utf8.RuneCountInString(old) <= maxWhole && utf8.RuneCountInString(now) <= maxWhole
	for i, p := range parts {
		if p.equal {
			shown := escape(p.old, isDeceptive)
			if !short {
				shown = elide(p.old, i == 0, i == len(parts)-1)
			}
			a.WriteString(shown)
			b.WriteString(shown)
			continue
		}
		x, y := escape(p.old, isDeceptive), escape(p.now, isDeceptive)
		if looksEqual(x, y) {
			x, y = escape(p.old, isAmbiguous), escape(p.now, isAmbiguous)
		}
		a.WriteString(x)
		b.WriteString(y)
	}
	return shorten(a.String(), limit), shorten(b.String(), limit)
}

// Exact returns a JSON text on one line, with the characters spelled out that Difference spells out
// at least. With a limit above 0, it ends after that many characters and says how many follow.
func Exact(text string, limit int) string { return shorten(escape(text, isDeceptive), limit) }

// ExactName is Exact for a name, which people compare with other names: it also spells out a single
// letter that looks like one in ASCII, combining marks, and spaces at the ends and beside others.
func ExactName(name string, limit int) string {
	name = escape(name, func(r rune, word string) bool {
		return isDeceptive(r, word) || unicode.Is(unicode.M, r) ||
			r >= utf8.RuneSelf && ToLatin(r) < utf8.RuneSelf && word == string(r)
	})
	inner := strings.Trim(name, " ")
	before := strings.Index(name, inner)
	spaces := func(n int) string { return strings.Repeat(spell(' '), n) }
	name = spaces(before) + inner + spaces(len(name)-before-len(inner))
	return shorten(strings.ReplaceAll(name, "  ", spaces(2)), limit)
}

// shorten returns a text, or its first characters and the number of the others.
func shorten(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text
	}
	return fmt.Sprintf("%s… (%d more characters)", string([]rune(text)[:limit]), n-limit)
}

// elide returns an equal part of two texts, with … for what is far from the parts that differ.
func elide(text string, first, last bool) string {
	runes, before, after := []rune(text), surroundings, surroundings
	if first {
		before = 0
	}
	if last {
		after = 0
	}
	if len(runes) < before+after+minElided {
		return escape(text, isDeceptive)
	}
	return escape(string(runes[:before]), isDeceptive) + "…" +
		escape(string(runes[len(runes)-after:]), isDeceptive)
}

// isDeceptive reports whether a character of a word must always be spelled out.
func isDeceptive(r rune, word string) bool {
	return isInvisible(r) || IsSelector(r) || IsBlank(r) || r != ' ' && unicode.IsSpace(r) ||
		r == 0x034f || r >= utf8.RuneSelf && ToLatin(r) < utf8.RuneSelf && LooksLatin(word)
}

// isAmbiguous reports whether a character is spelled out where two texts look equal.
func isAmbiguous(r rune, _ string) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\\"+lookalikesInASCII, r)
}

// escape spells out the characters of a text that must be. Bytes that are not UTF-8 become \xff.
func escape(text string, must func(r rune, word string) bool) string {
	var b strings.Builder
	for word := range words(text) {
		for i, r := range word {
			switch {
			case r == utf8.RuneError && !strings.HasPrefix(word[i:], string(utf8.RuneError)):
				fmt.Fprintf(&b, `\x%02x`, word[i])
			case !must(r, word):
				b.WriteRune(r)
			default:
				b.WriteString(spell(r))
			}
		}
	}
	return b.String()
}

// lookalikesInASCII are the ASCII characters that fonts draw alike.
const lookalikesInASCII = "0O1lI|'`"

// looksEqual reports whether two texts may look the same to a person. White space is ignored.
// Two different characters at the same place may look the same unless both are ASCII, both are
// letters of one script that has no accents and variants, or both are pictures.
func looksEqual(a, b string) bool {
	x, y := []rune(strings.ReplaceAll(a, " ", "")), []rune(strings.ReplaceAll(b, " ", ""))
	for range maxCompared {
		if len(x) == 0 || len(y) == 0 {
			return len(x) == len(y)
		}
		n, m := CharacterLen(x), CharacterLen(y)
		if string(x[:n]) != string(y[:m]) && isPlainlyDifferent(x[0], y[0]) {
			return false
		}
		x, y = x[n:], y[m:]
	}
	return true
}

func isPlainlyDifferent(a, b rune) bool {
	switch {
	case a == b: // with other marks
		return false
	case a < utf8.RuneSelf && b < utf8.RuneSelf:
		i, j := strings.IndexRune(lookalikesInASCII, a), strings.IndexRune(lookalikesInASCII, b)
		return i < 0 || j < 0 || lookalikeClass[i] != lookalikeClass[j]
	case unicode.Is(wide, a) && unicode.Is(wide, b) && !unicode.IsLetter(a) && !unicode.IsLetter(b):
		return true
	}
	return script(a) != nil && script(a) == script(b) && !isVariant(a) && !isVariant(b)
}

// lookalikeClass has the same digit for those of lookalikesInASCII that are drawn alike.
const lookalikeClass = "00111122"

// script returns the script of a letter, or nil for Latin, which has many accents, and for
// characters that belong to no script.
func script(r rune) *unicode.RangeTable {
	if !unicode.IsLetter(r) || unicode.Is(unicode.Latin, r) {
		return nil
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return table
		}
	}
	return nil
}

// isVariant reports whether a letter is another form of a letter elsewhere (Unicode's blocks of
// radicals, compatibility and presentation forms).
func isVariant(r rune) bool {
	return 0x2e80 <= r && r <= 0x2fdf || 0xf900 <= r && r <= 0xfaff || 0xfb00 <= r && r <= 0xfdff ||
		0xfe70 <= r && r <= 0xffef || 0x2f800 <= r && r <= 0x2fa1f
}

// A part is a part of two texts, which is equal in both or different.
type part struct {
	old, now string
	equal    bool
}

// align divides two texts into parts, equal and different ones by turns. It aligns whole words.
func align(old, now string) (parts []part) {
	add := func(old, now string) {
		before, after := common(old, now)
		parts = appendEqual(parts, old[:before])
		if x, y := old[before:len(old)-after], now[before:len(now)-after]; x != "" || y != "" {
			parts = append(parts, part{old: x, now: y})
		}
		parts = appendEqual(parts, old[len(old)-after:])
	}
	before, after := common(old, now)
	parts = appendEqual(parts, old[:before])
	a, b := old[before:len(old)-after], now[before:len(now)-after]
	var x, y []string
	for word := range words(a) {
		x = append(x, word)
	}
	for word := range words(b) {
		y = append(y, word)
	}
	if int64(len(x))*int64(len(y)) > maxAligned {
		add(a, b)
		return appendEqual(parts, old[len(old)-after:])
	}
	longest := commonWords(x, y)
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		p, q := i, j
		for i < len(x) || j < len(y) { // to the next common word
			switch {
			case i == len(x):
				j++
				continue
			case j == len(y) || x[i] != y[j] && longest(i+1, j) >= longest(i, j+1):
				i++
				continue
			case x[i] != y[j]:
				j++
				continue
			}
			break
		}
		add(strings.Join(x[p:i], ""), strings.Join(y[q:j], ""))
		for i < len(x) && j < len(y) && x[i] == y[j] {
			parts = appendEqual(parts, x[i])
			i, j = i+1, j+1
		}
	}
	return appendEqual(parts, old[len(old)-after:])
}

// appendEqual appends a text that is equal in both.
func appendEqual(parts []part, text string) []part {
	if text == "" {
		return parts
	}
	if n := len(parts); n > 0 && parts[n-1].equal {
		parts[n-1].old += text
		return parts
	}
	return append(parts, part{old: text, equal: true})
}

// commonWords returns the length of the longest common subsequence of x[i:] and y[j:].
func commonWords(x, y []string) func(i, j int) uint16 {
	columns := len(y) + 1
	table := make([]uint16, (len(x)+1)*columns)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			at := i*columns + j
			if x[i] == y[j] {
				table[at] = table[at+columns+1] + 1
			} else {
				table[at] = max(table[at+columns], table[at+1])
			}
		}
	}
	return func(i, j int) uint16 { return table[i*columns+j] }
}

// common returns the numbers of bytes at the start and at the end of two texts that are equal. They
// end at whole characters and do not overlap.
func common(a, b string) (before, after int) {
	n := min(len(a), len(b))
	for before < n && a[before] == b[before] {
		before++
	}
	for before > 0 && (!startsRune(a, before) || !startsRune(b, before)) {
		before--
	}
	for after < n-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	for after > 0 && (!startsRune(a, len(a)-after) || !startsRune(b, len(b)-after)) {
		after--
	}
	return before, after
}

func startsRune(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// words yields the words of a text, and each character between words.
func words(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := strings.IndexFunc(text, func(r rune) bool {
				return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '_'
			})
			switch {
			case n < 0:
				n = len(text)
			case n == 0:
				_, n = utf8.DecodeRuneInString(text)
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}
