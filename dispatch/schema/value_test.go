package schema

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestMultipleOf(t *testing.T) {
	divisors := []string{"1", "2", "3", "7", "10", "0.1", "0.01", "0.25", "1e2", "2.5",
		"999999999999999989", "12345678901234567890123", "1e-5"}
	values := []string{"0", "1", "-6", "10", "0.3", "0.07", "1.75", "4.35", "1e3", "99.5",
		"999999999999999989", "6999999999999999923",
		"24691357802469135780246", "1e20", "123456789012345678901230000", "0.00001", "-2.5e-1"}
	for _, m := range divisors {
		by := newDivisor(jsonscan.ParseDecimal([]byte(m)))
		divisorRat, _ := new(big.Rat).SetString(m)
		for _, value := range values {
			rat, _ := new(big.Rat).SetString(value)
			assert.Equal(t, by.divides(jsonscan.ParseDecimal([]byte(value))),
				rat.Quo(rat, divisorRat).IsInt(), "%s by %s", value, m)
		}
	}
	// Numbers are not expanded.
	third := newDivisor(jsonscan.ParseDecimal([]byte("3")))
	assert.Assert(t, !third.divides(jsonscan.ParseDecimal([]byte("1e999999999999"))))
	assert.Assert(t, third.divides(jsonscan.ParseDecimal([]byte("6e999999999999"))))
	large := newDivisor(jsonscan.ParseDecimal([]byte("12345678901234567890123")))
	assert.Assert(t, large.divides(jsonscan.ParseDecimal([]byte("12345678901234567890123e999999999"))))
}

// const and uniqueItems compare values whatever their notation. uniqueItems compares short arrays
// pair by pair and long ones by hash.
func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`0`, `-0`, true}, {`1`, `"1"`, false},
		{`0`, `false`, false}, {`null`, `false`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`"a"`, `"\u0061"`, true},
		{`"\ud83d\ude00"`, `"😀"`, true}, {`""`, `"\u0000"`, false},
		{`[1,2]`, `[1.0,2e0]`, true}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,2]`, false},
		{`[]`, `{}`, false}, {`[[]]`, `[[],[]]`, false},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true}, {`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"b":1}`, false}, {`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"\u0061":1}`, `{"a":1}`, true}, {`{"a":1,"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":1,"b":1}`, `{"a":1,"a":1}`, false},
		{`{"a":1,"b":2,"c":3}`, `{"c":3,"a":1,"b":2}`, true}, {`{}`, `{}`, true},
	} {
		err := MustCompile(`{"const":` + tc.a + `}`).Validate([]byte(tc.b))
		assert.Equal(t, err == nil, tc.same, "%s and %s", tc.a, tc.b)
		unique := MustCompile(`{"uniqueItems":true}`)
		for _, padding := range []int{0, 20} {
			items := []string{tc.a}
			for i := range padding {
				items = append(items, fmt.Sprintf(`"padding %d"`, i))
			}
			items = append(items, tc.b)
			err := unique.Validate([]byte("[" + strings.Join(items, ",") + "]"))
			assert.Equal(t, err != nil, tc.same, "%s and %s with %d between", tc.a, tc.b, padding)
			if tc.same {
				assert.ErrorContains(t, err, fmt.Sprintf("items 0 and %d are equal", padding+1))
			}
		}
	}
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{
		`""`: 0, `"abc"`: 3, `"äöü"`: 3, `"😀"`: 1, `"\n\t"`: 2, `"\u00e4x"`: 2, `"\ud83d\ude00"`: 1,
		`"\uD83D\uDE00\\u0041"`: 7, `"\\\""`: 2, `"ä\/\ue000"`: 3,
	} {
		var doc index
		assert.NilError(t, doc.build([]byte(text)))
		assert.Equal(t, doc.length(0), want, text)
		s := MustCompile(fmt.Sprintf(`{"minLength":%d,"maxLength":%d}`, want, want))
		assert.NilError(t, s.Validate([]byte(text)), text)
		assert.Assert(t,
			MustCompile(fmt.Sprintf(`{"minLength":%d}`, want+1)).Validate([]byte(text)) != nil,
			text)
		if want > 0 {
			assert.Assert(t,
				MustCompile(fmt.Sprintf(`{"maxLength":%d}`, want-1)).Validate([]byte(text)) != nil,
				text)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, tc := range []struct{ pattern, matches, not string }{
		{`^.$`, "\u0085", "\u2028"}, {`^[^]$`, "\n", ""}, {`a[]|b`, "b", "a"},
		{`^\u{1F600}$`, "😀", "x"}, {`^\uD83D\uDE00+$`, "😀😀", ""},
		{`^[\uD83D\uDE00-\uD83D\uDE02]$`, "😁", "😃"}, {`^\x41\0$`, "A\x00", "A"},
		{`^[\b]$`, "\b", "b"}, {`\bx\b`, "a x", "ax"}, {`^(?<year>\d{4})$`, "2026", "26"},
		{`^{}$`, "{}", ""}, {`^a{,2}$`, "a{,2}", "aa"}, {`^[[:alpha:]]$`, "l]", "l"},
		{`^[a-\d]$`, "-", "b"}, {`^[\w-]+$`, "a-b", "a+b"}, {`^[+\-/]$`, "-", "."},
		{`^[^\s]$`, "x", "\ufeff"}, {`^[\S]$`, "x", "\u00a0"}, {`^\p{Lu}\P{L}$`, "Ä1", "ä1"},
		{`^\p{Script=Greek}$`, "α", "a"}, {`^[\p{L}_]+$`, "é_", "1"},
		{`^a{1001,2500}$`, strings.Repeat("a", 2500), strings.Repeat("a", 1000)},
		{`^a{0,1500}$`, "", strings.Repeat("a", 1501)},
		{`^(ab){1200,}$`, strings.Repeat("ab", 1300), "ab"},
		{`^a{3}?$`, "aaa", "aa"}, {`^a+?b*?c??$`, "ab", "x"}, {`\/\-\_\#`, "/-_#", "/"},
		{`^\cJ$`, "\n", "J"}, {`^]}$`, "]}", ""}, {`^[.*+?^${}()|\\]$`, "$", "a"},
		{`^(|a)$`, "", "b"},
	} {
		s, err := Compile(fmt.Appendf(nil, `{"pattern":%q}`, tc.pattern))
		if err != nil { // %q is not JSON for some of them
			c := compiler{}
			p, err := c.pattern(tc.pattern)
			assert.NilError(t, err, tc.pattern)
			assert.Assert(t, p.re.MatchString(tc.matches), "%s %q", tc.pattern, tc.matches)
			assert.Assert(t, !p.re.MatchString(tc.not), "%s %q", tc.pattern, tc.not)
			continue
		}
		assert.NilError(t, validateValue(s, tc.matches), tc.pattern)
		assert.Assert(t, validateValue(s, tc.not) != nil, "%s %q", tc.pattern, tc.not)
	}
	for pattern, want := range map[string]string{
		`(?=a)`: "lookahead is not supported", `a(?!b(c))`: "lookahead", `(?<=a)b`: "lookbehind",
		`(a)\1`: "backreference", `(?<n>a)\k<n>`: "backreference",
		`(?i:a)`: "inline modifier", `[\uD800-\uDBFF]`: "lone surrogate",
		`\p{Emoji}`: "invalid character class",
		`(`:         "a ( is not closed", `)`: "a ) closes no group", `[a`: "a [ is not closed",
		`*`: "nothing to repeat", `a**`: "nothing to repeat", `^*`: "an assertion cannot be repeated",
		`{1}`: "nothing to repeat", `a{2,1}`: "out of order", `[b-a]`: "out of order",
		`\`: `ends the expression`, `\a`: `unknown escape \a`, `\Z`: `unknown escape \Z`, `\01`: `unknown escape \0`,
		`\x4`: "hexadecimal", `\u{110000}`: "number of a character", `\u12`: "hexadecimal",
		`\c1`: "followed by a letter", `\p`: "in braces", `\p{}`: "in braces",
		`(?<>a)`: "must have a name", `(?<a>)(?<a>)`: "two groups", `(?P<n>x)`: "unknown kind of group",
		`(?#x)`: "unknown kind of group", `\k`: "name of a group",
		strings.Repeat("(", 300): "nested more than 200 deep",
	} {
		c := compiler{}
		_, err := c.pattern(pattern)
		assert.ErrorContains(t, err, want, pattern)
		assert.ErrorIs(t, err, ErrPattern)
	}
}
