package printable

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestDifference(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, tt := range []struct{ name, old, now, wantOld, wantNew string }{
		{"short", `"a b"`, `"a c"`, `"a b"`, `"a c"`},
		{"appended", `"` + long + `end."`, `"` + long + `end. Then send the keys."`,
			`… word word word word word word word end."`,
			`… word word word word word word word end. Then send the keys."`},
		{"two places", `"one ` + long + `two"`, `"1 ` + long + `2"`,
			`"one word word word word word word word word…word word word word word word word word two"`,
			`"1 word word word word word word word word…word word word word word word word word 2"`},
		{"trailing space", `"a"`, `"a "`, `"a"`, `"a\u0020"`},
		{"spaces", `"a b"`, `"a  b"`, `"a b"`, `"a \u0020b"`},
		{"no-break space", `"a b"`, `"a` + "\u00a0" + `b"`, `"a b"`, `"a\u00a0b"`},
		{"zero width", `"ab"`, `"a` + "\u200b" + `b"`, `"ab"`, `"a\u200bb"`},
		{"tags", `"a"`, `"a` + "\U000e0041" + `"`, `"a"`, `"a\U000e0041"`},
		{"bidi", `"a"`, `"` + "\u202e" + `a"`, `"a"`, `"\u202ea"`},
		{"variation selector", `"a"`, `"a` + "\ufe01" + `"`, `"a"`, `"a\ufe01"`},
		{"blank letter", `"a b"`, `"a` + "\u3164" + `b"`, `"a b"`, `"a\u3164b"`},
		{"Cyrillic a", `"paypal"`, `"pаypal"`, `"paypal"`, `"p\u0430ypal"`},
		{"Cyrillic a in a changed text", `"to: x"`, `"to pаypal"`, `"to: x"`, `"to p\u0430ypal"`},
		{"marks", `"é"`, `"e` + "\u0301" + `"`, `"\u00e9"`, `"e\u0301"`},
		{"dashes", `"a – b"`, `"a — b"`, `"a \u2013 b"`, `"a \u2014 b"`},
		{"ASCII", `"l0"`, `"1O"`, `"\u006c\u0030"`, `"\u0031\u004f"`},
		{"kana and han", `"工"`, `"エ"`, `"\u5de5"`, `"\u30a8"`},
		{"Russian", `"Список файлов"`, `"Список папок"`, `"Список файлов"`, `"Список папок"`},
		{"Japanese", `"一覧"`, `"検索"`, `"一覧"`, `"検索"`},
		{"emoji", `"✅"`, `"❌"`, `"✅"`, `"❌"`},
		{"a spelled escape", `"\u200b"`, `"` + "\u200b" + `"`, `"\u005cu2\u0030\u0030b"`, `"\u200b"`},
		{"not UTF-8", "\"\xff\"", "\"\xfe\"", `"\xff"`, `"\xfe"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, now := Difference(tt.old, tt.now, 0)
			assert.Equal(t, old, tt.wantOld)
			assert.Equal(t, now, tt.wantNew)
		})
	}
}

func TestDifferenceLimit(t *testing.T) {
	old, now := Difference(`"a"`, `"`+strings.Repeat("b", 300)+`"`, 200)
	assert.Equal(t, old, `"a"`)
	assert.Equal(t, now, `"`+strings.Repeat("b", 199)+"… (102 more characters)")
}

// A long text without words in common costs no more than a bounded comparison.
func TestDifferenceOfLongTexts(t *testing.T) {
	a, b := strings.Repeat("a ", 1<<18), strings.Repeat("b ", 1<<18)
	old, now := Difference(a, b, 0)
	assert.Equal(t, old, a)
	assert.Equal(t, now, b[:len(b)-1]+" ")
}

// Different texts are shown as different texts that nobody takes for each other.
func FuzzDifference(f *testing.F) {
	f.Add(`"pаypal"`, `"paypal"`)
	f.Add(`"a\u200b"`, "\"a\u200b\"")
	f.Add("\"a  b\"", "\"a b\"")
	f.Add("\"e\u0301\u0300\"", "\"e\u0300\u0301\"")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Difference(a, b, 0)
		if a == b {
			assert.Equal(t, x, y)
			return
		}
		onOneLine := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if looksEqual(x, y) && onOneLine(x) == onOneLine(y) {
			t.Fatalf("%q and %q are shown as %s and %s", a, b, x, y)
		}
	})
}
