package uritemplate

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// rfc holds the variables of RFC 6570, section 3.2, except undef.
var rfc = Values{
	"count": listOf("one", "two", "three"), "dom": listOf("example", "com"), "dub": String("me/too"),
	"hello": String("Hello World!"),
	"half":  String("50%"), "var": String("value"), "who": String("fred"),
	"base": String("http://example.com/home/"), "path": String("/foo/bar"),
	"list": listOf("red", "green", "blue"),
	"keys": pairsOf([2]string{"semi", ";"}, [2]string{"dot", "."}, [2]string{"comma", ","}),
	"v":    String("6"), "x": String("1024"), "y": String("768"), "empty": String(""),
	"empty_keys": pairsOf(),
}

// examples are those of RFC 6570, sections 1.2, 2.1 and 3.2.
var examples = []struct{ section, template, uri string }{
	{"1.2", "'{var}'", "'value'"}, {"1.2", "map?{x,y}", "map?1024,768"},
	{"1.2", "{;x,y,empty}", ";x=1024;y=768;empty"},
	{"2.1", "'{count}'", "'one,two,three'"},

	{"3.2.1", "{count}", "one,two,three"}, {"3.2.1", "{count*}", "one,two,three"},
	{"3.2.1", "{/count}", "/one,two,three"},
	{"3.2.1", "{/count*}", "/one/two/three"}, {"3.2.1", "{;count}", ";count=one,two,three"},
	{"3.2.1", "{;count*}", ";count=one;count=two;count=three"},
	{"3.2.1", "{?count}", "?count=one,two,three"},
	{"3.2.1", "{?count*}", "?count=one&count=two&count=three"},
	{"3.2.1", "{&count*}", "&count=one&count=two&count=three"},

	{"3.2.2", "{var}", "value"}, {"3.2.2", "{hello}", "Hello%20World%21"},
	{"3.2.2", "{half}", "50%25"}, {"3.2.2", "O{empty}X", "OX"},
	{"3.2.2", "O{undef}X", "OX"}, {"3.2.2", "{x,y}", "1024,768"},
	{"3.2.2", "{x,hello,y}", "1024,Hello%20World%21,768"},
	{"3.2.2", "?{x,empty}", "?1024,"}, {"3.2.2", "?{x,undef}", "?1024"},
	{"3.2.2", "?{undef,y}", "?768"}, {"3.2.2", "{var:3}", "val"},
	{"3.2.2", "{var:30}", "value"}, {"3.2.2", "{list}", "red,green,blue"},
	{"3.2.2", "{list*}", "red,green,blue"},
	{"3.2.2", "{keys}", "semi,%3B,dot,.,comma,%2C"},
	{"3.2.2", "{keys*}", "semi=%3B,dot=.,comma=%2C"},

	{"3.2.3", "{+var}", "value"}, {"3.2.3", "{+hello}", "Hello%20World!"},
	{"3.2.3", "{+half}", "50%25"},
	{"3.2.3", "{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
	{"3.2.3", "{+base}index", "http://example.com/home/index"},
	{"3.2.3", "O{+empty}X", "OX"}, {"3.2.3", "O{+undef}X", "OX"},
	{"3.2.3", "{+path}/here", "/foo/bar/here"},
	{"3.2.3", "here?ref={+path}", "here?ref=/foo/bar"},
	{"3.2.3", "up{+path}{var}/here", "up/foo/barvalue/here"},
	{"3.2.3", "{+x,hello,y}", "1024,Hello%20World!,768"},
	{"3.2.3", "{+path,x}/here", "/foo/bar,1024/here"},
	{"3.2.3", "{+path:6}/here", "/foo/b/here"},
	{"3.2.3", "{+list}", "red,green,blue"}, {"3.2.3", "{+list*}", "red,green,blue"},
	{"3.2.3", "{+keys}", "semi,;,dot,.,comma,,"},
	{"3.2.3", "{+keys*}", "semi=;,dot=.,comma=,"},

	{"3.2.4", "{#var}", "#value"}, {"3.2.4", "{#hello}", "#Hello%20World!"},
	{"3.2.4", "{#half}", "#50%25"}, {"3.2.4", "foo{#empty}", "foo#"},
	{"3.2.4", "foo{#undef}", "foo"}, {"3.2.4", "{#x,hello,y}", "#1024,Hello%20World!,768"},
	{"3.2.4", "{#path,x}/here", "#/foo/bar,1024/here"},
	{"3.2.4", "{#path:6}/here", "#/foo/b/here"}, {"3.2.4", "{#list}", "#red,green,blue"},
	{"3.2.4", "{#list*}", "#red,green,blue"},
	{"3.2.4", "{#keys}", "#semi,;,dot,.,comma,,"}, {"3.2.4", "{#keys*}", "#semi=;,dot=.,comma=,"},

	{"3.2.5", "{.who}", ".fred"}, {"3.2.5", "{.who,who}", ".fred.fred"},
	{"3.2.5", "{.half,who}", ".50%25.fred"},
	{"3.2.5", "www{.dom*}", "www.example.com"},
	{"3.2.5", "X{.var}", "X.value"}, {"3.2.5", "X{.empty}", "X."}, {"3.2.5", "X{.undef}", "X"},
	{"3.2.5", "X{.var:3}", "X.val"},
	{"3.2.5", "X{.list}", "X.red,green,blue"}, {"3.2.5", "X{.list*}", "X.red.green.blue"},
	{"3.2.5", "X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
	{"3.2.5", "X{.keys*}", "X.semi=%3B.dot=..comma=%2C"}, {"3.2.5", "X{.empty_keys}", "X"},
	{"3.2.5", "X{.empty_keys*}", "X"},

	{"3.2.6", "{/who}", "/fred"}, {"3.2.6", "{/who,who}", "/fred/fred"},
	{"3.2.6", "{/half,who}", "/50%25/fred"},
	{"3.2.6", "{/who,dub}", "/fred/me%2Ftoo"},
	{"3.2.6", "{/var}", "/value"}, {"3.2.6", "{/var,empty}", "/value/"},
	{"3.2.6", "{/var,undef}", "/value"},
	{"3.2.6", "{/var,x}/here", "/value/1024/here"},
	{"3.2.6", "{/var:1,var}", "/v/value"}, {"3.2.6", "{/list}", "/red,green,blue"},
	{"3.2.6", "{/list*}", "/red/green/blue"},
	{"3.2.6", "{/list*,path:4}", "/red/green/blue/%2Ffoo"},
	{"3.2.6", "{/keys}", "/semi,%3B,dot,.,comma,%2C"},
	{"3.2.6", "{/keys*}", "/semi=%3B/dot=./comma=%2C"},

	{"3.2.7", "{;who}", ";who=fred"}, {"3.2.7", "{;half}", ";half=50%25"},
	{"3.2.7", "{;empty}", ";empty"},
	{"3.2.7", "{;v,empty,who}", ";v=6;empty;who=fred"},
	{"3.2.7", "{;v,bar,who}", ";v=6;who=fred"}, {"3.2.7", "{;x,y}", ";x=1024;y=768"},
	{"3.2.7", "{;x,y,empty}", ";x=1024;y=768;empty"},
	{"3.2.7", "{;x,y,undef}", ";x=1024;y=768"}, {"3.2.7", "{;hello:5}", ";hello=Hello"},
	{"3.2.7", "{;list}", ";list=red,green,blue"},
	{"3.2.7", "{;list*}", ";list=red;list=green;list=blue"},
	{"3.2.7", "{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
	{"3.2.7", "{;keys*}", ";semi=%3B;dot=.;comma=%2C"},

	{"3.2.8", "{?who}", "?who=fred"}, {"3.2.8", "{?half}", "?half=50%25"},
	{"3.2.8", "{?x,y}", "?x=1024&y=768"},
	{"3.2.8", "{?x,y,empty}", "?x=1024&y=768&empty="}, {"3.2.8", "{?x,y,undef}", "?x=1024&y=768"},
	{"3.2.8", "{?var:3}", "?var=val"},
	{"3.2.8", "{?list}", "?list=red,green,blue"},
	{"3.2.8", "{?list*}", "?list=red&list=green&list=blue"},
	{"3.2.8", "{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
	{"3.2.8", "{?keys*}", "?semi=%3B&dot=.&comma=%2C"},

	{"3.2.9", "{&who}", "&who=fred"}, {"3.2.9", "{&half}", "&half=50%25"},
	{"3.2.9", "?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"3.2.9", "{&x,y,empty}", "&x=1024&y=768&empty="}, {"3.2.9", "{&x,y,undef}", "&x=1024&y=768"},
	{"3.2.9", "{&var:3}", "&var=val"},
	{"3.2.9", "{&list}", "&list=red,green,blue"},
	{"3.2.9", "{&list*}", "&list=red&list=green&list=blue"},
	{"3.2.9", "{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"},
	{"3.2.9", "{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
}

func TestExpandExamples(t *testing.T) {
	for _, e := range examples {
		got, err := mustParse(t, e.template).Expand(rfc)
		assert.NilError(t, err, e.template)
		assert.Equal(t, got, e.uri, "section %s, %s", e.section, e.template)
	}
}

// The result of Match for each example expands to the same URI, for lists and pairs of any form.
func TestExamplesMatch(t *testing.T) {
	for _, e := range examples {
		template := mustParse(t, e.template)
		values, ok := template.Match(e.uri)
		assert.Assert(t, ok, "section %s, %s does not match %s", e.section, e.template, e.uri)
		got, err := template.Expand(values)
		assert.NilError(t, err, e.template)
		assert.Equal(t, got, e.uri, "section %s, %s found %v", e.section, e.template, values)
	}
}

func TestExpandMore(t *testing.T) {
	values := Values{
		"id": String("admin%2F"), "not_pct": String("%foo"),
		"list":  listOf("red%25", "%2Fgreen", "blue "),
		"keys":  mapOf(map[string]string{"b": "2%2F", "a": "ü"}),
		"greek": String("αβγ"), "clef": String("𝄞stave"), "accent": String("%C3%A9tude"),
		"half": String("%C3etude"), "last.name": String("Doe"),
		"Stra%C3%9Fe": String("Grüner Weg"), "42": String("The Answer"), "none": listOf(),
		"blanks": listOf("", ""), "blank": listOf(""),
		"empty": pairsOf([2]string{"k", ""}),
	}
	for template, want := range map[string]string{
		"":         "",
		"literal":  "literal",
		"{+id}":    "admin%2F",
		"{#id}":    "#admin%2F",
		"{id}":     "admin%252F",
		"{+id:6}":  "admin%2F",
		"{+id:5}":  "admin",
		"{id:7}":   "admin%252",
		"{+list}":  "red%25,%2Fgreen,blue%20",
		"{list}":   "red%2525,%252Fgreen,blue%20",
		"{+keys*}": "a=%C3%BC,b=2%2F",
		"{keys}":   "a,%C3%BC,b,2%252F",

		"{not_pct}": "%25foo", "{+not_pct}": "%25foo", "{#not_pct}": "#%25foo",
		"{greek:1}": "%CE%B1", "{+greek:2}": "%CE%B1%CE%B2", "{greek:30}": "%CE%B1%CE%B2%CE%B3",
		"{clef:1}": "%F0%9D%84%9E", "{clef:9999}": "%F0%9D%84%9Estave",
		"{+accent:1}": "%C3%A9", "{+accent:2}": "%C3%A9t", "{accent:1}": "%25", "{+half:2}": "%C3e",
		"{?last.name,42}":                 "?last.name=Doe&42=The%20Answer",
		"/lookup{?Stra%C3%9Fe}":           "/lookup?Stra%C3%9Fe=Gr%C3%BCner%20Weg",
		"a{none}{/none*}{?none}{;none*}b": "ab", "{?blanks}": "?blanks=,",
		"{?blanks*}": "?blanks=&blanks=", "{;blanks*}": ";blanks;blanks",
		"{;blank}": ";blank", "{?blank}": "?blank=", "{/blank}": "/", "{?empty*}": "?k=",
		"{;empty*}": ";k", "{empty*}": "k=", "{?empty}": "?empty=k,",
		"café/{42}": "caf%C3%A9/The%20Answer", "x%20y{42}z%2f": "x%20yThe%20Answerz%2f", "'": "'",
		"{/none,42}": "/The%20Answer", "{#none,42}": "#The%20Answer",
	} {
		got, err := mustParse(t, template).Expand(values)
		assert.NilError(t, err, template)
		assert.Equal(t, got, want, template)
	}
}

func TestExpandErrors(t *testing.T) {
	for template, want := range map[string]string{
		"{keys:1}":    `URI template "{keys:1}": the value of keys is not a string, and :1 takes the beginning of a string; give one, or remove it`,
		"{+list:3}":   `URI template "{+list:3}": the value of list is not a string, and :3 takes the beginning of a string; give one, or remove it`,
		"a{/latin}":   `URI template "a{/latin}": the value of latin is not UTF-8`,
		"{?members*}": `URI template "{?members*}": the value of members is not UTF-8`,
	} {
		got, err := mustParse(t, template).Expand(Values{
			"keys": rfc["keys"], "list": rfc["list"], "latin": String("\xe9"),
			"members": listOf("ok", "\xff"),
		})
		assert.Error(t, err, want)
		assert.Equal(t, got, "")
	}
}

func TestValue(t *testing.T) {
	var zero Value
	assert.Equal(t, zero.Kind(), Undefined)
	assert.Equal(t, zero.String(), "")
	assert.Assert(t, zero.Parts() == nil)
	assert.Assert(t, listOf().Equal(zero) && pairsOf().Equal(zero) && mapOf(nil).Equal(zero))
	assert.Assert(t, !String("").Equal(zero))
	assert.Assert(t, !String("a").Equal(listOf("a")))
	assert.Equal(t, listOf("a", "b").String(), "a,b")
	assert.Equal(t, mapOf(map[string]string{"b": "2", "a": "1"}).String(), "a,1,b,2")

	members := []string{"a", "b"}
	list := listOf(members...)
	members[0] = "changed"
	list.Parts()[1] = "changed"
	assert.Equal(t, list.String(), "a,b", "a value does not change")
}

func mustParse(t testing.TB, template string) *Template {
	t.Helper()
	parsed, err := Parse(template)
	assert.NilError(t, err, strings.ToValidUTF8(template, "?"))
	return parsed
}
