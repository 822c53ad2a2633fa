package uritemplate

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParse(t *testing.T) {
	for template, want := range map[string]string{
		"": "", "plain": "", "{a}{+b}{#c}{.d}{/e}{;f}{?g}{&h}": "a b c d e f g h",
		"{/a:1,a}/{b*,a}": "a b", "{x.y.z_1,%C3%9f}": "x.y.z_1 %C3%9f",
		"{?q:9999}": "q", "é\U000E1000\uE000{a}": "a", "a%ff{b}": "b", "{42}": "42",
	} {
		parsed := mustParse(t, template)
		assert.Equal(t, parsed.String(), template)
		assert.Equal(t, strings.Join(parsed.Variables(), " "), want, template)
	}
	parsed := mustParse(t, "{a,b}")
	parsed.Variables()[0] = "changed"
	assert.Equal(t, parsed.Variables()[0], "a", "a template does not change")
}

func TestParseErrors(t *testing.T) {
	const badName = " cannot stand there in an expression: names are of letters, digits, _ and percent-encodings, with dots between"
	const badNumber = "a number from 1 to 9999 has to follow the colon"
	for _, e := range []struct {
		template string
		offset   int
		reason   string
	}{
		{"{/id*", 0, "the expression is not closed, its } is missing"},
		{"ab{", 2, "the expression is not closed, its } is missing"},
		{"ab{+", 2, "the expression is not closed, its } is missing"},
		{"ab{x,", 2, "the expression is not closed, its } is missing"},
		{"ab{x:3", 2, "the expression is not closed, its } is missing"},
		{"/id*}", 4, "} closes nothing; as itself it is %7D"},
		{"{}", 1, "the name of a variable is missing"},
		{"{?}", 2, "the name of a variable is missing"},
		{"{a,}", 3, "the name of a variable is missing"},
		{"{a,,b}", 3, "the name of a variable is missing"},
		{"{?,b}", 2, "the name of a variable is missing"},
		{"{/?id}", 2, "'?'" + badName},
		{"{??hello}", 2, "'?'" + badName},
		{"{a{b}}", 2, "'{'" + badName},
		{"{with space}", 5, "' '" + badName},
		{"{ leading_space}", 1, "' '" + badName},
		{"{trailing_space }", 15, "' '" + badName},
		{"{$var}", 1, "'$'" + badName},
		{"{*keys?}", 1, "'*'" + badName},
		{"{hello:2*}", 8, "'*'" + badName},
		{"{;keys*:1}", 7, "':'" + badName},
		{"{?empty=default,var}", 7, "'='" + badName},
		{"x{?empty|foo=none}", 8, "'|'" + badName},
		{"/h{#hello+}", 9, "'+'" + badName},
		{"{var}{-prefix|/-/|var}", 6, "'-'" + badName},
		{"/people/{~thing}", 9, "'~'" + badName},
		{"/{default-graph-uri}", 9, "'-'" + badName},
		{"/sparql{?query){&default-graph-uri*}", 14, "')'" + badName},
		{"/resolution{?x, y}", 15, "' '" + badName},
		{"{é}", 1, "'é'" + badName},
		{"{.x.}", 3, "a dot can only stand between other characters of a variable's name"},
		{"{x..y}", 2, "a dot can only stand between other characters of a variable's name"},
		{"{..y}", 2, "'.'" + badName},
		{"{var:prefix}", 5, badNumber},
		{"{var:}", 5, badNumber},
		{"{var:0}", 5, badNumber},
		{"{var:01}", 5, badNumber},
		{"{var:10000}", 5, badNumber},
		{"?q={a}&amp;c={example:color?}", 22, badNumber},
		{"{var:-1}", 5, badNumber},
		{"{%2x}", 1, "two hexadecimal digits have to follow %"},
		{"{a%}", 2, "two hexadecimal digits have to follow %"},
		{"100%", 3, "two hexadecimal digits have to follow %; a percent sign itself is %25"},
		{"a%2", 1, "two hexadecimal digits have to follow %; a percent sign itself is %25"},
		{"%zz", 0, "two hexadecimal digits have to follow %; a percent sign itself is %25"},
		{"a b", 1, "' ' cannot be in a URI template, percent-encode it"},
		{"a\x00", 1, `'\x00' cannot be in a URI template, percent-encode it`},
		{"a\\", 1, `'\\' cannot be in a URI template, percent-encode it`},
		{"a\uFFFE", 1, `'\ufffe' cannot be in a URI template, percent-encode it`},
		{"a\u0085", 1, `'\u0085' cannot be in a URI template, percent-encode it`},
		{"a\xff", 1, "the template is not UTF-8"},
		{"{=path}", 1, "the operator = is reserved (RFC 6570, section 2.2); there are + # . / ; ? &"},
		{"{!hello}", 1, "the operator ! is reserved (RFC 6570, section 2.2); there are + # . / ; ? &"},
		{"{|var*}", 1, "the operator | is reserved (RFC 6570, section 2.2); there are + # . / ; ? &"},
		{"{,a}", 1, "the operator , is reserved (RFC 6570, section 2.2); there are + # . / ; ? &"},
		{"{@a}", 1, "the operator @ is reserved (RFC 6570, section 2.2); there are + # . / ; ? &"},
	} {
		_, err := Parse(e.template)
		syntax, ok := errors.AsType[*SyntaxError](err)
		assert.Assert(t, ok, "%q: %v", e.template, err)
		assert.Equal(t, syntax.Reason, e.reason, e.template)
		assert.Equal(t, syntax.Offset, e.offset, e.template)
		assert.Equal(t, syntax.Template, e.template)
	}
	_, err := Parse("a{b")
	assert.Error(t, err,
		`URI template "a{b": at byte 1: the expression is not closed, its } is missing`)
}

func TestLimits(t *testing.T) {
	mustParse(t, strings.Repeat("a", MaxTemplate))
	_, err := Parse(strings.Repeat("a", MaxTemplate+1))
	assert.Error(t, err, `URI template "`+strings.Repeat("a", 200)+
		`": at byte 8192: the template has 8193 bytes, 8192 are the limit`)

	mustParse(t, strings.Repeat("{a}", MaxVariables))
	_, err = Parse(strings.Repeat("{a}", MaxVariables) + "{?b,c}")
	assert.ErrorContains(t, err, "at byte 303: the template has more than 100 variables")

	anything := mustParse(t, "{+a}")
	long := strings.Repeat("a", MaxURI)
	values, ok := anything.Match(long)
	assert.Assert(t, ok)
	assert.Equal(t, values["a"].String(), long)
	_, ok = anything.Match(long + "a")
	assert.Assert(t, !ok)
	_, ok = anything.Match(strings.Repeat("é", MaxURI/6))
	assert.Assert(t, ok)
	_, ok = anything.Match(strings.Repeat("é", MaxURI/6+1))
	assert.Assert(t, !ok, "longer than the limit when encoded")
}
