package uritemplate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func FuzzParse(f *testing.F) {
	for _, e := range examples {
		f.Add(e.template)
	}
	for _, template := range []string{"{", "}", "{a:0}", "{%zz}", "é%", "{a..b}", "{?a*,b:9999}",
		"\xff"} {
		f.Add(template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		parsed, err := Parse(template)
		if err != nil {
			syntax := err.(*SyntaxError)
			assert.Assert(t, 0 <= syntax.Offset && syntax.Offset <= len(template) &&
				syntax.Reason != "", "%+v", syntax)
			return
		}
		assert.Equal(t, parsed.String(), template)
		values := Values{}
		for _, name := range parsed.Variables() {
			values[name] = String("a/é")
		}
		for _, values := range []Values{nil, values} {
			uri, err := parsed.Expand(values)
			assert.NilError(t, err)
			for i := range len(uri) {
				assert.Assert(t, uriChars.has(uri[i]) || triplet(uri[i:]), "%q in %q", uri[i], uri)
			}
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, e := range examples {
		f.Add(e.template, e.uri)
	}
	f.Add("{?a,b*}{&c}", "?x=1&a&b=2&c=3")
	f.Add("{;a,b*}{.c*}{#d:3}", ";x=;a;b=2.1.2#%C3%A9")
	f.Add("{x}{y}-{+z}", "a:b%zz")
	f.Add("{?x*,y}", "?y&y&z")
	f.Add("{+x}%fa", "a%25")
	f.Fuzz(func(t *testing.T, template, uri string) {
		parsed, err := Parse(template)
		if err != nil {
			return
		}
		values, ok := parsed.Match(uri)
		index, same, found := NewSet(parsed).Match(uri)
		assert.Equal(t, found, ok)
		assert.Equal(t, show(same), show(values))
		if ok {
			assert.Equal(t, index, 0)
		}
		for name, value := range values {
			assert.Assert(t, value.Kind() != Undefined, name)
			assert.Assert(t, utf8.ValidString(value.String()), "%q", value.String())
		}
		if normal, ok := normalise(uri); ok && !parsed.never &&
			strings.HasPrefix(normal, parsed.prefix) {
			for _, loose := range []bool{false, true} {
				_, ok, work := parsed.search(normal, loose)
				assert.Assert(t, work <= bound(parsed, normal), "%d steps", work)
				assert.Assert(t, !ok || parsed.possible(normal), "a match is refused beforehand")
			}
		}
		// Match finds everything in a URI from Expand, unless + and # make an encoded and a plain
		// character equal, or a variable occurs twice in the template.
		if made, err := parsed.Expand(values); ok && err == nil &&
			parsed.mentions == len(parsed.names) && !strings.ContainsAny(template, "+#%") {
			again, ok := parsed.Match(made)
			assert.Assert(t, ok, "%s from %s", made, show(values))
			back, err := parsed.Expand(again)
			assert.NilError(t, err)
			assert.DeepEqual(t, pieces(back), pieces(made))
		}
	})
}

// An expansion always matches, and the values found expand to the same URI, except for the order of
// parameters and for encoding, as {+x} may get what was encoded for its neighbour. This holds for
// any template in which no variable occurs twice, and any values.
func FuzzExpandMatch(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, "é/?#&;=,.:a b")
	}
	f.Add(uint64(302), "=\x00\x00\x00;db.ǉ=,:aa ,")
	f.Fuzz(func(t *testing.T, seed uint64, alphabet string) {
		if !utf8.ValidString(alphabet) || alphabet == "" {
			return
		}
		// No percent sign, because + and # treat %41 as encoded.
		g := generator{rand.New(rand.NewPCG(seed, seed)),
			[]rune(strings.ReplaceAll(alphabet, "%", "") + "a")}
		template, values := g.template()
		parsed := mustParse(t, template)
		uri, err := parsed.Expand(values)
		assert.NilError(t, err)
		found, ok := parsed.Match(uri)
		assert.Assert(t, ok, "%s does not match %s of %s", template, uri, show(values))
		again, err := parsed.Expand(found)
		assert.NilError(t, err)
		if !slices.Equal(pieces(again), pieces(uri)) {
			// a parameter that moves may leave behind the text after it, of a {+x}
			assert.DeepEqual(t, letters(again), letters(uri))
			_, ok := parsed.Match(again)
			assert.Assert(t, ok, "%s does not match %s of %s", template, again, show(found))
		}
	})
}

// pieces returns the parameters of a URI, and the text between them, in some order.
func pieces(uri string) []string {
	return slices.Sorted(strings.FieldsFuncSeq(decode(uri), func(r rune) bool {
		return strings.ContainsRune("?&;", r)
	}))
}

// letters returns the characters of a URI in some order.
func letters(uri string) []rune {
	all := []rune(decode(uri))
	slices.Sort(all)
	return all
}

// generator makes templates and values for them.
type generator struct {
	*rand.Rand
	alphabet []rune
}

func (g generator) template() (string, Values) {
	var out strings.Builder
	values := Values{}
	for range 1 + g.IntN(5) {
		if g.IntN(3) == 0 {
			out.WriteString(
				[]string{"a", "/", "x.y", "?", "&k=", "%2F", "é", "=", ",", ";", "-"}[g.IntN(11)])
			continue
		}
		sign := []string{"", "+", "#", ".", "/", ";", "?", "&"}[g.IntN(8)]
		out.WriteString("{" + sign)
		exploded := false
		for n := 1 + g.IntN(3); n > 0; n-- {
			name := fmt.Sprintf("v%d", len(values))
			out.WriteString(name)
			values[name] = g.value()
			switch mode := g.IntN(4); {
			case mode == 0 && !exploded: // of several that take all names, the first takes all
				exploded = true
				out.WriteByte('*')
			case mode == 1 && (n == 1 || sign != "" && sign != "+" && sign != "#"):
				// {x:1,y} with x undefined does not match what is too long for it
				out.WriteString(":2")
				if values[name].Kind() > Text {
					values[name] = String(g.text())
				}
			}
			if n > 1 {
				out.WriteByte(',')
			}
		}
		out.WriteByte('}')
	}
	return out.String(), values
}

func (g generator) value() Value {
	switch g.IntN(5) {
	case 0:
		return Value{}
	case 1:
		return listOf(g.text(), g.text())
	case 2:
		return pairsOf([2]string{"k", g.text()},
			[2]string{"l" + string(g.alphabet[len(g.alphabet)-1]), g.text()})
	}
	return String(g.text())
}

func (g generator) text() string {
	out := make([]rune, g.IntN(5))
	for i := range out {
		out[i] = g.alphabet[g.IntN(len(g.alphabet))]
	}
	return string(out)
}

// Without ambiguity, Match returns the original values.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a", "b")
	f.Add("", "é/%2F,")
	f.Add("a=b", "&;?#")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		text, list := Values{"a": String(a), "b": String(b)},
			Values{"a": listOf(a, b), "b": String(b)}
		for _, e := range []struct {
			template string
			values   Values
		}{
			{"t://x{/a}/{b}y", text}, {"t://{a}/{b}/", text}, {"t{?a,b}", text},
			{"t{;a,b}/x", text},
			{"t?x=1{&b}{#a}",
				Values{"b": String(b), "a": String("a/" + strings.ReplaceAll(b, "%", ""))}},
			{"t{/a}{?b}", text}, {"t{/a*}{?b}", list}, {"t{?a*,b}", list},
			{"t{;a*}", Values{"a": mapOf(map[string]string{"k" + a: b})}}, {"{a}{?b}", list},
			{"t{?a*}", Values{"a": pairsOf([2]string{"k" + a, b}, [2]string{"k" + a, a})}},
			{"t{/a*}", Values{"a": pairsOf([2]string{a, b}, [2]string{b, a})}},
		} {
			parsed := mustParse(t, e.template)
			uri, err := parsed.Expand(e.values)
			assert.NilError(t, err)
			if len(uri) > MaxURI {
				return
			}
			found, ok := parsed.Match(uri)
			assert.Assert(t, ok, "%s does not match %s", e.template, uri)
			for name, want := range e.values {
				if got := found[name]; !got.Equal(want) &&
					!(strings.Contains(e.template, "{"+name+"}") && want.Equal(String(""))) {
					t.Errorf("%s: %s in %s is %q, it was %q", e.template, name, uri, got.parts,
						want.parts)
				}
			}
		}
	})
}
