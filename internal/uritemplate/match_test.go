package uritemplate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// show writes values in a line: texts quoted by ", members between [], pairs between {}.
func show(values Values) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := `"` + strings.Join(values[name].parts, "|") + `"`
		out = append(out, name+"="+
			map[Kind]string{Undefined: "?", Text: text, Sequence: "[" + text + "]", Mapping: "{" +
				text + "}"}[values[name].kind])
	}
	return strings.Join(out, " ")
}

const none = "none" // no match

func TestMatch(t *testing.T) {
	for _, e := range []struct{ template, uri, want string }{
		// Literals.
		{"", "", ``}, {"", "a", none}, {"a://b", "a://b", ``}, {"a://b", "a://b/", none},
		{"a://b", "a://", none},
		{"é", "%C3%A9", ``}, {"%c3%A9", "é", ``}, {"a%2fb", "a%2Fb", ``}, {"a%2Fb", "a/b", none},
		{"%7Euser", "~user", ``}, {"%41", "A", ``},
		{"%FF{x}", "%FFa", none}, {"{?%FF}", "?%FF=1", none},

		// One value, and none.
		{"t://{id}/data", "t://123/data", `id="123"`}, {"t://{id}/data", "t://1/2/data", none},
		{"t://{id}/data", "t:///data", ``},
		{"t://{id}", "t://", ``},
		{"t://{id}", "u://1", none}, {"t://{id}", "T://1", none},
		{"{x}", "a%2Fb%20c%25", `x="a/b c%"`}, {"{x}", "%ce%B1α", `x="αα"`},
		{"{x}", "1,2", `x=["1|2"]`}, {"{x}", "1%2C2", `x="1,2"`}, {"{x}", ",", `x=["|"]`},
		{"{x}", "a#b", none}, {"{x}", "a?b", none},
		{"{+x}", "a/b?c#d,e%2F[f]", `x="a/b?c#d,e/[f]"`}, {"{+x}/end", "/a/end/end", `x="/a/end"`},
		{"x{#f}", "x#a/b#c", `f="a/b#c"`},
		{"x{#f}", "x#", `f=""`},
		{"x{#f}", "x", ``}, {"x{.e}", "x.tar.gz", `e="tar.gz"`}, {"x{.e}", "x.", `e=""`},
		{"x{.e}", "xy", none}, {"x{/s}", "x/a", `s="a"`},
		{"x{/s}", "x/a/b", none}, {"x{/s}", "x/", `s=""`}, {"x{/s}", "x", ``},

		// Several in one expression.
		{"{x,y}", "1,2", `x="1" y="2"`}, {"{x,y}", "1", `x="1"`}, {"{x,y}", "1,", `x="1" y=""`},
		{"{x,y}", ",1", `x="" y="1"`}, {"{x,y}", "", ``},
		{"{x,y}", "1,2,3", `x="1" y=["2|3"]`}, {"{x,y,z}", ",,", `x="" y="" z=""`},
		{"{x,y:1,z}", ",abc", `x=["|abc"]`},
		{"{x:1,y:1,z}", ",abc", `x="" z="abc"`}, {"{+x,y}", "a/b,c/d", `x="a/b" y="c/d"`},
		{"{+x,y}", ",b", `x="" y="b"`}, {"{#x,y}", "#1,2", `x="1" y="2"`},
		{"{#x,y}", "#,2", `x="" y="2"`}, {"{#x,y}", ",2", none},
		{"{#x,y}", "", ``},
		{"w{.a,b}", "w.1.2", `a="1" b="2"`}, {"w{.a,b}", "w.1.2.3", `a="1" b="2.3"`},
		{"{/a,b}", "/1/2", `a="1" b="2"`}, {"{/a,b}", "/1", `a="1"`},
		{"{/a,b}", "/1/", `a="1" b=""`}, {"{/a,b}", "//2", `a="" b="2"`},
		{"{/a,b}", "/1/2/3", none},

		// Exploded.
		{"f{/s*}", "f/a", `s=["a"]`}, {"f{/s*}", "f/a/b%2Fc/", `s=["a|b/c|"]`}, {"f{/s*}", "f", ``},
		{"f{/s*}", "f/", `s=[""]`},
		{"f{/s*}", "fa", none},
		{"f{/s*}/end", "f/a/end/b/end", `s=["a|end|b"]`}, {"f{/m*}", "f/a=1/b=", `m={"a|1|b|"}`},
		{"f{/m*}", "f/a=1/b", `m=["a=1|b"]`},
		{"{/s*,x:4}", "/a/b/%2Ffoo", `s=["a|b"] x="/foo"`}, {"{x*}", "a,b", `x=["a|b"]`},
		{"{x*}", "a=1,b=%3D", `x={"a|1|b|="}`},
		{"{+x*}", "a/b,c", `x=["a/b|c"]`},
		{"{.x*}", ".a.b", `x=["a|b"]`}, {"{.x*}", ".a=1.5.b=2", `x={"a|1.5|b|2"}`},
		{"{.x*}", ".a=..1.b=.", `x={"a|..1|b|."}`},
		{"{.x*}", ".a.b=1", `x=["a|b=1"]`}, {"{#x*}", "#a=1,b=2", `x={"a|1|b|2"}`},

		// Greedy, except for what a following operator can start with.
		{"{a}-{b}", "1-2-3", `a="1-2" b="3"`}, {"{a}-{b}-{c}", "1-2-3-4", `a="1-2" b="3" c="4"`},
		{"{a}-{b:1}", "1-2-3", `a="1-2" b="3"`},
		{"{a}{b}", "xy", `a="xy"`},
		{"{name}.{ext}", "a.tar.gz", `ext="gz" name="a.tar"`},
		{"{name}{.ext}", "a.tar.gz", `ext="tar.gz" name="a"`},
		{"{name}{.ext}", "readme", `name="readme"`},
		{"{name}{.ext}", ".rc", `ext="rc"`}, {"{+dir}/{file}", "a/b/c", `dir="a/b" file="c"`},
		{"{+p}{?q}", "a/b?q=1", `p="a/b" q="1"`},
		{"{+p}{?q}", "a/b?z=1", `p="a/b?z=1"`},
		{"{+p}{?q}{#f}", "a#b?q=1#c", `f="c" p="a#b" q="1"`}, {"{+p}{#f}", "a#b", `f="b" p="a"`},
		{"{/a}{/b}", "/x", `a="x"`},
		{"{/a}{/b}", "/x/y", `a="x" b="y"`},
		{"{/a}{/b}/c", "/x/c", `a="x"`}, {"{/a}/c", "/c/c", `a="c"`},
		{"{/a*}{/b*}", "/x/y/z", `a=["x"] b=["y|z"]`},
		{"{/a*}/{b}", "/x/y/z", `a=["x|y"] b="z"`},
		{"{a}bc{d}", "abcbc", `a="abc"`}, {"a{b}a", "aa", ``}, {"a{b}a", "a", none},
		{"{a}%41{b}", "xAy", `a="x" b="y"`}, {"{x}2F", "%2F2F", `x="/"`},
		{"{x}2F", "%2F", none},
		{"{x}%A9", "é", none}, {"{x}A9", "é", none}, {"{x}z", "%C3%A9z", `x="é"`},

		// Prefixes.
		{"{x:3}", "abc", `x="abc"`}, {"{x:3}", "abcd", none}, {"{x:3}", "a", `x="a"`},
		{"{x:1}", "%CE%B1", `x="α"`}, {"{x:1}", "%CE%B1b", none},
		{"{+x:2}", "/%2F", `x="//"`},
		{"{x:3}{y}", "abcdef", `x="abc" y="def"`}, {"{x:3}", "a,b", `x="a,b"`},
		{"{/x:1,y}", "/long", `y="long"`}, {"{?x:3}", "?x=abc", `x="abc"`},
		{"{?x:3}", "?x=abcd", none},
		{"{?x:1}", "?x=%CE%B1", `x="α"`},

		// Repeated variables.
		{"{x}/{x}", "a/a", `x="a"`}, {"{x}/{x}", "a/b", none}, {"{x}/{x}", "a/", none},
		{"{x}/{x}", "/", ``}, {"{/x:1,x}", "/v/value", `x="value"`},
		{"{/x:1,x}", "/w/value", none},
		{"{x:1}/{x:3}/{x:2}", "a/abc/ab", `x="abc"`}, {"{x:1}/{x:3}/{x:2}", "a/abc/ac", none},
		{"{x}{?x*}", "a,b?x=a&x=b", `x=["a|b"]`},
		{"{x}{?x*}", "a,b?x=a", none}, {"{x}{x}", ",", none}, {"{x}{.x}", ".", `x=""`},
		{"{?x,x}", "?x=1&x=1", `x="1"`}, {"{?x,x}", "?x=1&x=2", none}, {"{?x,x}", "?x=1", none},
		{"{x}{/x}", "/", `x=""`}, {"{/x}{?x}", "/", none},

		// Parameters.
		{"s{?a,b}", "s?a=1&b=2", `a="1" b="2"`}, {"s{?a,b}", "s?b=2&a=1", `a="1" b="2"`},
		{"s{?a,b}", "s?b=2", `b="2"`}, {"s{?a,b}", "s", ``},
		{"s{?a,b}", "s?", none},
		{"s{?a,b}", "s?a=", `a=""`}, {"s{?a,b}", "s?a", `a=""`}, {"s{?a,b}", "s?c=1", none},
		{"s{?a,b}", "s?a=1&c=1", none},
		{"s{?a,b}", "s?a=1&a=1", none},
		{"s{?a,b}", "s?a=1&", none}, {"s{?a,b}", "s?&a=1", none}, {"s{?a,b}", "s&a=1", none},
		{"s{?a}", "s?ab=1", none},
		{"s{?a,ab}", "s?ab=1&a=2", `a="2" ab="1"`},
		{"s{?a}", "s?a=1,2", `a=["1|2"]`}, {"s{?a}", "s?a=1%2C2", `a="1,2"`},
		{"s{?a*}", "s?a=1", `a=["1"]`}, {"s{?a*}", "s?a=1&a=2", `a=["1|2"]`},
		{"s{?a*}", "s?k=1&l=%26", `a={"k|1|l|&"}`},
		{"s{?a*}", "s?a=1&k=2", `a={"a|1|k|2"}`}, {"s{?a*}", "s?k", `a={"k|"}`},
		{"s{?a*}", "s?=v", none}, {"s{?a*}", "s?", none},
		{"s{?a*}", "s?%2A=%2A", `a={"*|*"}`},
		{"s{?a,m*}", "s?x=1&a=2&y=3", `a="2" m={"x|1|y|3"}`},
		{"s{?a,m*}", "s?a=1&a=2", `a="1" m={"a|2"}`},
		{"s{?l*,m*}", "s?m=1&l=2&m=3", `l=["2"] m=["1|3"]`},
		{"s{?a,b}{&m*}", "s?b=1&k=3&a=2", `b="1" m={"k|3|a|2"}`},
		{"s{?a,b}{&m*}", "s?b=1&a=2&k=3", `a="2" b="1" m={"k|3"}`},
		{"s{?m*}{&a}", "s?k=1&a=2", `a="2" m={"k|1"}`},
		{"s{?x:2}{+y}", "s?x=abc", `x="ab" y="c"`}, {"s{;x:2}{+y}", "s;x=abc", `x="ab" y="c"`},
		{"s{?x:1,y}{+z}", "s?y=abc&x=de", `x="d" y="abc" z="e"`},
		{"{;a}{+z}", ";a.b", `a="" z=".b"`}, {"{;a}{z}", ";ab", `a="" z="b"`},
		{"u://{a}{+rest}", "u://x/y/z", `a="x" rest="/y/z"`},
		{"{/a}{+rest}", "/x/y", `a="x" rest="/y"`},
		{"s{?a}{&b}", "s?a=1&b=2", `a="1" b="2"`}, {"s{?a}{&b}", "s&b=2", `b="2"`},
		{"s{?a}{&b}", "s?b=2&a=1", none},
		{"s?f=1{&a}", "s?f=1&a=2", `a="2"`}, {"s?f=1{&a}", "s?f=1", ``},
		{"s{;a,b}", "s;b;a=1", `a="1" b=""`}, {"s{;a,b}", "s;a=", `a=""`},
		{"s{;a}/x", "s;a=1/x", `a="1"`}, {"s{;a}x", "s;ax", `a=""`},
		{"s{;a}.json", "s;a.json", `a=""`},
		{"s{;a*}", "s;k=1;l", `a={"k|1|l|"}`}, {"s{;a*}/x", "s;k/x", `a={"k|"}`},
		{"s{?a}x", "s?a=1x", `a="1"`},
		{"{?%7Euser}", "?~user=1", `%7Euser="1"`}, {"{?St%C3%9F}", "?Stß=1", `St%C3%9F="1"`},
		{"s{?a}#x", "s?a=1#x", `a="1"`}, {"s{?a}{#f}", "s?a=1#f", `a="1" f="f"`},
		{"s{?a}{b}", "s?a=b", `a="b"`},

		// Values that others do not encode, if nothing else matches.
		{"u://{name}", "u://ann@example.com", `name="ann@example.com"`},
		{"u://{k}:{+v}", "u://a:b:c", `k="a" v="b:c"`},
		{"{+x}-{y}", "a-b:c-d", `x="a-b:c" y="d"`},
		{"{x}", "a=b;c", `x="a=b;c"`}, {"f{/s*}", "f/a:b/c", `s=["a:b|c"]`},
		{"s{?path}", "s?path=/etc/x?y=z", `path="/etc/x?y=z"`},
		{"s{?a*}", "s?a[]=1", `a={"a[]|1"}`},
		{"s{;a}", "s;a=x:y", `a="x:y"`}, {"s{;a}", "s;a=x/y", none},
		{"s{?q}", "s?q=a+b", `q="a+b"`},

		// Text that is not a URI.
		{"{+x}", "a b", none}, {"{+x}", "a%", none}, {"{+x}", "a%2", none}, {"{+x}", "%zz", none},
		{"{+x}", "%FF", none}, {"{+x}", "%C3", none},
		{"{+x}", "%C3%28", none},
		{"{+x}", "\xff", none}, {"{+x}", "\xc3%A9", none}, {"{+x}", "a\x00", none},
		{"{+x}", "a\x7f", none}, {"{+x}", "{x}", none},
		{"{+x}", `a"b`, none}, {"{+x}", `a\b`, none},
		{"{+x}", "%ED%A0%80", none}, {"{+x}", "%F4%90%80%80", none}, {"{+x}", "%C0%80", none},
		{"{+x}", "%00", "x=\"\x00\""},
	} {
		got := none
		if values, ok := mustParse(t, e.template).Match(e.uri); ok {
			got = show(values)
		} else {
			assert.Assert(t, values == nil)
		}
		if got != e.want {
			t.Errorf("%s with %s: got %s, want %s", e.template, e.uri, got, e.want)
		}
	}
}

// The bound in the package documentation holds for input on which a backtracking matcher would not
// end.
func TestMatchIsBounded(t *testing.T) {
	const n = 20_000
	var names []string
	for i := range 90 {
		names = append(names, strings.Repeat("n", i+1))
	}
	for template, uri := range map[string]string{
		strings.Repeat("{a}", 50) + "!":    strings.Repeat("a", n),
		strings.Repeat("{+a}a", 50) + "#":  strings.Repeat("a", n),
		strings.Repeat("{/a*}", 50) + "!":  strings.Repeat("/a", n/2),
		strings.Repeat("{/a,b}", 50) + "!": strings.Repeat("/a", n/2),
		strings.Repeat("{.a*}", 50) + "!":  strings.Repeat(".", n),
		"{?" + strings.Join(names, ",") + "}!": "?" +
			strings.Repeat("n&", n/2),
		"{?m*," + strings.Join(names, ",") + "}#": "?" +
			strings.Repeat("nnx=1&", n/6),
		strings.Repeat("{;m*}", 50) + "!":            ";" + strings.Repeat("a", n),
		"{?m*}#!":                                    strings.Repeat("?", n),
		"{?m*}{?n*}#!":                               strings.Repeat("?a&", n/3),
		strings.Repeat("{;m*}", 50) + "/!":           strings.Repeat(";k=v", n/4),
		strings.Repeat("{+a:9999}", 50) + "[":        strings.Repeat("%C3%A9", n/6),
		"{+a}" + strings.Repeat("a", 4000) + "{+b}b": strings.Repeat("a", n),
		strings.Repeat("{a,b}", 40) + strings.Repeat("{&k*}", 10) + "/": strings.Repeat("&,=", n/3),
	} {
		for _, loose := range []bool{false, true} {
			parsed := mustParse(t, template)
			_, ok, work := parsed.search(uri, loose)
			assert.Assert(t, !ok, "%.40s", template)
			assert.Assert(t, work <= bound(parsed, uri), "%.40s: %d steps, %d are allowed",
				template, work, bound(parsed, uri))
		}
	}
}

// bound is how many positions a search may visit: those of the URI, a few times per literal and
// variable.
func bound(t *Template, uri string) int { return 4 * (len(uri) + 1) * (len(t.parts) + t.mentions) }

func TestMatchConcurrently(t *testing.T) {
	template := mustParse(t, "f://{a}{/b*}{?c,d}")
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				values, ok := template.Match("f://x/1/2?d=3")
				assert.Assert(t, ok)
				assert.Equal(t, show(values), `a="x" b=["1|2"] d="3"`)
				uri, err := template.Expand(values)
				assert.NilError(t, err)
				assert.Equal(t, uri, "f://x/1/2?d=3")
			}
		})
	}
}
