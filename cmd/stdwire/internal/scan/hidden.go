package scan

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/internal/printable"
)

// A class is the effect of a character that is not visible.
type class int

const (
	visible   class = iota
	control         // C0 and C1, DEL
	bidi            // sets the direction of the following text
	mark            // a direction mark, normal in right-to-left text
	zero            // has no width
	tag             // U+E0000 to U+E007F
	selector        // selects a variation of the character before it
	blank           // a letter or mark that looks blank
	separator       // line and paragraph separators
	format          // any other formatting
)

// classNames are the names of the classes, in the plural.
var classNames = [...]string{
	control: "control characters", bidi: "bidirectional controls", mark: "direction marks",
	zero: "zero-width characters", tag: "tag characters", selector: "variation selectors",
	blank: "blank letters", separator: "line separators", format: "formatting characters",
}

func classOf(r rune) class {
	switch {
	case r == '\n' || r == '\t' || 0x20 <= r && r < 0x7f:
		return visible
	case unicode.Is(unicode.Cc, r):
		return control
	case 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069:
		return bidi
	case r == 0x200e || r == 0x200f || r == 0x061c:
		return mark
	case 0x200b <= r && r <= 0x200d || 0x2060 <= r && r <= 0x2064 || r == 0xfeff || r == 0x00ad ||
		r == 0x180e || r == 0x034f:
		return zero
	case 0xe0000 <= r && r <= 0xe007f:
		return tag
	case printable.IsSelector(r):
		return selector
	case printable.IsBlank(r):
		return blank
	case r == 0x2028 || r == 0x2029:
		return separator
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		// visible
		return format
	}
	return visible
}

// hiddenCharacters describes the invisible characters of a text that have no legitimate use there.
type hiddenCharacters struct {
	count     map[class]int
	first     int    // index of the first one, or -1
	message   string // text spelled by tag characters and variation selectors
	longest   int    // longest run of variation selectors
	overrides int    // direction overrides
}

// findHidden returns the hidden characters of a text.
func findHidden(s string) hiddenCharacters {
	h := hiddenCharacters{count: map[class]int{}, first: -1}
	var spelled []byte
	runes, offset := []rune(s), 0
	rtl := strings.ContainsFunc(s, isRTL)
	run := 0
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		at := offset
		offset += len(string(r))
		c := classOf(r)
		if c == selector {
			run++
		} else {
			run = 0
		}
		if c == visible || r == '\r' && i+1 < len(runes) && runes[i+1] == '\n' || r == 0x1b ||
			r == 0x9b {
			// the last two have a rule of their own
			continue
		}
		var before, after rune
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		if c == tag {
			if n := flagLength(before, runes[i:]); n > 0 {
				for _, r := range runes[i+1 : i+n] {
					offset += len(string(r))
				}
				i += n - 1
				continue
			}
		}
		if isHarmless(c, r, before, after, rtl, i == 0) {
			continue
		}
		h.count[c]++
		if h.first < 0 {
			h.first = at
		}
		h.longest = max(h.longest, run)
		if r == 0x202d || r == 0x202e {
			h.overrides++
		}
		switch {
		case c == tag && 0xe0020 <= r && r <= 0xe007e:
			spelled = append(spelled, byte(r-0xe0000))
		case 0xfe00 <= r && r <= 0xfe0f:
			spelled = append(spelled, byte(r-0xfe00))
		case 0xe0100 <= r && r <= 0xe01ef:
			spelled = append(spelled, byte(r-0xe0100+16))
		}
	}
	if len(spelled) > 0 && isReadable(string(spelled)) {
		h.message = string(spelled)
	}
	return h
}

// isHarmless reports whether a hidden character is used for its purpose.
func isHarmless(c class, r, before, after rune, rtl, first bool) bool {
	switch {
	case c == mark, c == bidi && rtl && r != 0x202d && r != 0x202e:
		return rtl
	case r == 0x200d && (isPictograph(before) || before == 0xfe0f) && isPictograph(after):
		// joins emoji
		return true
	case (r == 0x200c || r == 0x200d) && hasJoiners(before): // in scripts with joined letters
		return true
	case r == 0x200b && (hasNoBlanks(before) || hasNoBlanks(after)):
		// in scripts without blanks between words
		return true
	case r == 0xfeff && first:
		return true
	case r == 0xfe0e || r == 0xfe0f:
		return isPictograph(before) || strings.ContainsRune("0123456789#*", before) && before != 0
	case c == selector: // known variations of letters; others could spell a text
		return unicode.Is(unicode.Han, before) &&
			(0xe0100 <= r && r <= 0xe011f || r <= 0xfe02 && r >= 0xfe00) ||
			unicode.Is(unicode.Mongolian, before) && r < 0xfe00 ||
			0xfe00 <= r && r <= 0xfe02 && unicode.Is(unicode.Sm, before)
	case c == blank:
		return unicode.In(before, unicode.Hangul, unicode.Khmer, unicode.Braille) ||
			unicode.In(after, unicode.Hangul, unicode.Khmer, unicode.Braille)
	}
	return false
}

// flagLength returns the number of tag characters that turn a black flag into that of England,
// Scotland or Wales, or 0. No other such flags are in use.
func flagLength(before rune, runes []rune) int {
	if before != 0x1f3f4 {
		return 0
	}
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		i := 0
		for i < len(region) && i < len(runes) && runes[i] == 0xe0000+rune(region[i]) {
			i++
		}
		if i == len(region) && i < len(runes) && runes[i] == 0xe007f {
			return i + 1
		}
	}
	return 0
}

func isRTL(r rune) bool {
	return r >= 0x590 &&
		unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko,
			unicode.Samaritan, unicode.Mandaic, unicode.Adlam)
}

// isPictograph reports whether a character is, or may be, drawn as a picture.
func isPictograph(r rune) bool {
	return r == 0xa9 || r == 0xae || r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139 ||
		0x2190 <= r && r <= 0x21ff || 0x2300 <= r && r <= 0x27bf ||
		0x2900 <= r && r <= 0x297f || 0x2b00 <= r && r <= 0x2bff || r == 0x3030 || r == 0x303d ||
		r == 0x3297 || r == 0x3299 || 0x1f000 <= r && r <= 0x1faff
}

// hasJoiners reports whether r is a letter of a script that uses zero-width joiners.
func hasJoiners(r rune) bool {
	return r >= 0x600 &&
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali,
			unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
			unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
			unicode.Mongolian)
}

// hasNoBlanks reports whether r is a letter of a script without blanks between words.
func hasNoBlanks(r rune) bool {
	return r >= 0xe00 &&
		unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Han,
			unicode.Hiragana, unicode.Katakana, unicode.Tibetan)
}

// hiddenUnicode finds invisible characters.
func hiddenUnicode(_ *scanner, d *definition, t *text) (Finding, bool) {
	if isPlainASCII(t.s) {
		return Finding{}, false
	}
	h := findHidden(t.s)
	if h.first < 0 {
		return Finding{}, false
	}
	var counts []string
	kinds := 0
	for c := control; c <= format; c++ {
		if n := h.count[c]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, classNames[c]))
			kinds++
		}
	}
	f := Finding{Severity: h.severity(kinds), What: "the text has invisible characters: " +
		strings.Join(counts, ", "), Evidence: excerpt(t.s, h.first, h.first+1)}
	if isName := t.key || t.where == "name" && d.kind != kindServer; isName {
		f.Severity = max(f.Severity, High)
		f.What = "the name has invisible characters: " +
			strings.Join(counts, ", ")
	}
	if h.message != "" {
		f.What = fmt.Sprintf("%s; they spell %q", f.What, printable.TruncateBytes(h.message, 200))
	}
	return f, true
}

// severity rates the characters by their number and classes.
func (h *hiddenCharacters) severity(kinds int) Severity {
	const message, many, several, few = 8, 10, 3, 2
	switch {
	case len(h.message) >= message:
		return Critical
	case h.count[tag] > 0, h.overrides > 0, h.longest >= several, h.count[zero] >= many,
		kinds >= several:
		return High
	case h.count[zero] > few, h.count[bidi] > 0, h.count[blank] > 0, h.count[selector] > few,
		h.count[control] > few:
		return Medium
	case h.count[control] > 0, h.count[zero] > 0, h.count[selector] > 0, h.count[format] > 0:
		return Low
	}
	return Info
}

// isReadable reports whether at least nine tenths of s are printable ASCII.
func isReadable(s string) bool {
	readable := 0
	for i := range len(s) {
		if c := s[i]; ' ' <= c && c <= '~' || c == '\n' || c == '\t' {
			readable++
		}
	}
	return readable > 0 && readable*10 >= len(s)*9
}

// terminalEscape finds escape sequences for terminals.
func terminalEscape(_ *scanner, _ *definition, t *text) (Finding, bool) {
	i := strings.IndexFunc(t.s, func(r rune) bool { return r == 0x1b || r == 0x9b })
	if i < 0 {
		return Finding{}, false
	}
	return Finding{Severity: High,
		What:     "the text has terminal escape sequences, which can hide, overwrite and move what is shown",
		Evidence: excerpt(t.s, i, i+1)}, true
}

// hiddenLayout finds text behind white space or in comments.
func hiddenLayout(_ *scanner, _ *definition, t *text) (Finding, bool) {
	if t.key {
		return Finding{}, false
	}
	if m := padding().FindStringIndex(t.plain); m != nil {
		return Finding{Severity: Medium,
			What:     "there is text after so much white space that people do not see it",
			Evidence: excerpt(t.plain[m[1]-1:], 0, 80)}, true
	}
	if m := comment().FindStringIndex(t.plain); m != nil {
		const what = "there is text in a comment, which is not shown where the text is rendered"
		return Finding{Severity: Medium, What: what, Evidence: excerpt(t.plain, m[0], m[1])}, true
	}
	return Finding{}, false
}

var (
	padding = lazyregexp.New(`(?:[ \t]{150}|(?:[ \t]*\n){25})\s*\S`)
	comment = lazyregexp.New(`(?s)<!--[^>]*?\w+\s+\w+.*?-->`)
)
