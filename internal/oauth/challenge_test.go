package oauth

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseChallenges(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("Basic, ", maxChallenges), ", ")
	wide := "Bearer " + parameters(maxParams)
	for _, c := range []struct {
		header string // values are separated by line breaks
		want   string // challenges, as they are written
		err    string // "" if there is none
	}{
		{"", "", ""},
		{" , ,\t,", "", ""},
		{"Bearer", "Bearer", ""},
		{`Bearer realm="a b"`, `Bearer realm="a b"`, ""},
		{`Bearer Realm=a,SCOPE = "x y" ,error="e"`, `Bearer realm="a", scope="x y", error="e"`, ""},
		{`bearer realm = x`, `bearer realm="x"`, ""},
		{`Bearer realm="a\"b\\c\d", x=""`, `Bearer realm="a\"b\\cd", x=""`, ""},
		{`Bearer realm="a, Basic realm=b", scope="s"`, `Bearer realm="a, Basic realm=b", scope="s"`,
			""},
		{`Basic realm="é"`, `Basic realm="é"`, ""},
		{"Negotiate", "Negotiate", ""},
		{"Negotiate YWJj/+==", "Negotiate YWJj/+==", ""},
		{"Negotiate a=, Basic", "Negotiate a=|Basic", ""},
		{"Negotiate a==\t", "Negotiate a==", ""},
		{"Bearer a", "Bearer a", ""}, // a token68, because there is no "="
		{"Negotiate, Basic realm=x, Bearer scope=y, z=w, DPoP",
			`Negotiate|Basic realm="x"|Bearer scope="y", z="w"|DPoP`, ""},
		{", , Basic realm=x,, ,y=z", `Basic realm="x", y="z"`, ""},
		{"Basic realm=x\nBearer scope=y", `Basic realm="x"|Bearer scope="y"`, ""},
		{"Newauth realm=apps, type=1, title=\"Login to \\\"apps\\\"\", Basic realm=simple",
			`Newauth realm="apps", type="1", title="Login to \"apps\""|Basic realm="simple"`, ""},
		{many, strings.ReplaceAll(many, ", ", "|"), ""},
		{wide, wide, ""},
		// Invalid, but servers send it.
		{"Bearer resource_metadata=https://a.example:1/x?y=z&w=%20, scope=s",
			`Bearer resource_metadata="https://a.example:1/x?y=z&w=%20", scope="s"`, ""},
		{"Bearer realm=x, resource_metadata=http://[::1]/p;q",
			`Bearer realm="x", resource_metadata="http://[::1]/p;q"`, ""},
		{"Bearer resource_metadata='https://a.example/x' , scope='a b'",
			`Bearer resource_metadata="https://a.example/x", scope="a b"`, ""},
		{"Bearer realm='x', a=''", `Bearer realm="x", a=""`, ""},
		{"Bearer realm='x, a='", `Bearer realm="x, a="`, ""},
		{"Bearer realm=it's", `Bearer realm="it's"`, ""},
		{"Bearer realm='x", `Bearer realm="'x"`, ""},

		{`realm="x"`, "", `the parameter "realm" belongs to no challenge`},
		{`Negotiate abc=, realm="x"`, "", `the parameter "realm" belongs to no challenge`},
		{"Bearer realm=", "Bearer realm=", ""}, // a token68 too
		{"Bearer a=b, realm=", "", "it ends where there should be a value of realm"},
		{"Bearer realm=,x=y", "", `the parameter "x" belongs to no challenge`},
		{"Bearer a=b, realm=,x=y", "", "there is ',' where there should be a value of realm"},
		{`Bearer realm="x`, "", "the value of realm has no end"},
		{`Bearer realm="x\`, "", "the value of realm has no end"},
		{"Bearer realm=\"x\x7f\"", "", "the value of realm has the byte 0x7f"},
		{"Bearer realm=\"x\\\x00\"", "", "the value of realm has the byte 0x00"},
		{"Bearer resource_metadata='https://a.example/x' y", "",
			"there is 'y' where there should be a comma after resource_metadata"},
		{"Bearer resource_metadata=https://a.example/x y=z", "",
			"there is 'y' where there should be a comma after resource_metadata"},
		{`Bearer realm="x" y="z"`, "", "there is 'y' where there should be a comma after realm"},
		{`Bearer realm="x"y`, "", "there is 'y' where there should be a comma after realm"},
		{`Bearer error_description="a "b" c"`, "",
			"there is 'b' where there should be a comma after error_description"},
		{`Bearer a b`, "", "there is 'b' where there should be a = after a"},
		{`Bearer"x"`, "", `there is '"' where there should be a blank after the scheme`},
		{`Bearer "x"`, "", `there is '"' where there should be a parameter`},
		{`"x"`, "", `there is '"' where there should be a scheme or a parameter`},
		{`Bearer scope=a, SCOPE=b`, "", `the parameter "scope" occurs twice`},
		{`Basic realm=x, Bearer a=b, a=c`, `Basic realm="x"`, `the parameter "a" occurs twice`},
		{"Basic realm=x, @\nBearer scope=y", `Bearer scope="y"`,
			"there is '@' where there should be a scheme or a parameter"},
		{many + ", Basic", strings.ReplaceAll(many, ", ", "|"),
			"there are more than 16 challenges"},
		{wide + ", z=1", "", "a challenge has more than 32 parameters"},
		{"Bearer scope=y\nBasic realm=" + strings.Repeat("a", maxChallengeBytes),
			`Bearer scope="y"`, "the challenges have more than 16384 bytes"},
	} {
		all, err := ParseChallenges(strings.Split(c.header, "\n"))
		if c.err == "" {
			assert.NilError(t, err, "%.200q", c.header)
		} else {
			assert.Error(t, err, c.err, "%.200q", c.header)
		}
		assert.Equal(t, written(all, "|"), c.want, "%.200q", c.header)
	}
}

func parameters(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`p%d="v"`, i)
	}
	return strings.Join(all, ", ")
}

func written(all []Challenge, between string) string {
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.String()
	}
	return strings.Join(texts, between)
}

func TestChallengeIsSafeToWrite(t *testing.T) {
	c := Challenge{Scheme: "Bearer", Params: []Param{{"realm", "a\r\nSet-Cookie: x\x00\"\\"}}}
	assert.Equal(t, c.String(), `Bearer realm="a  Set-Cookie: x \"\\"`)
}

func TestGet(t *testing.T) {
	all, err := ParseChallenges([]string{`bEARER Scope="a", error=b`})
	assert.NilError(t, err)
	assert.Assert(t, all[0].Is("Bearer") && !all[0].Is("DPoP"))
	assert.Equal(t, all[0].Get("scope")+all[0].Get("error")+all[0].Get("realm"), "ab")
}

// Parsing the text of a parsed challenge gives the same challenge.
func FuzzParseChallenges(f *testing.F) {
	for _, seed := range []string{`Bearer realm="a\"b", scope=x, Basic`, "Negotiate YWJj==",
		",,a b=c,d=e", `a b="`, "é", "x\ny z=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		all, _ := ParseChallenges(strings.Split(header, "\n"))
		assert.Assert(t, len(all) <= maxChallenges)
		text := written(all, ", ")
		again, err := ParseChallenges([]string{text})
		if len(text) > maxChallengeBytes {
			return // quotes have made it longer
		}
		assert.NilError(t, err, "%q", text)
		assert.DeepEqual(t, again, all)
	})
}
