package schema

import (
	"testing"

	"gotest.tools/v3/assert"
)

// Cases that JSON-Schema-Test-Suite does not have.
func TestFormats(t *testing.T) {
	for name, cases := range map[string]struct{ good, bad []string }{
		"date-time": {[]string{"2026-02-28T00:00:00+00:00"},
			[]string{"", "2026-02-28", "2026-02-28 00:00:00Z", "2026-02-28T",
				"2026-02-28T00:00:00.Z"}},
		"hostname": {[]string{"a", "xn--a"}, []string{"a..b", "a_b"}},
		"email": {[]string{`"a\"b"@x`, "a+b@x.y"},
			[]string{"ü@x", `"a@x`, `"a"b"@x`, "a@[1.2.3]", "a@[IPv6:::1", `"\"@x`, "\"\x00\"@x"}},
		"idn-email": {[]string{"ü@ü.de"}, []string{"a@b c", "a b@c"}},
		"ipv6":      {[]string{"::1"}, []string{"::1%eth0", "1.2.3.4"}},
		"uri": {[]string{"a:", "a://b:80/c?d#e", "http://[v1.a:b]/"},
			[]string{"a:b:c[", "http://[v.a]", "http://[::1]x", "http://a b", "1a:b", "%"}},
		"iri": {[]string{"a://b/ü?\ue000"},
			[]string{"a://b/\ue000", "a:\u0080", "a:\ufff0"}},
		"uuid":     {nil, []string{"", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g"}},
		"duration": {[]string{"P1Y1M1DT1H1M1S"}, []string{"P1S", "T1S", "PT"}},
		"regex":    {[]string{`(?=a)`, `\1`}, []string{`[`, `(?P<a>)`}},
		"uri-template": {[]string{"{+a*,b:3}", "é", "\ue000\U00010000\U0010fffd"},
			[]string{"{", "}", "{}", "{a b}", "{a:}", "%4", "{a:3*}", "\x7f", "\u0080", "\xff",
				"\ufdd0", "\ufff0", "\ufffd", "\uffff", "\U0001fffe", "\U000e0000"}},
	} {
		f := formats[name]
		assert.Assert(t, f.words != "", name)
		for _, text := range cases.good {
			assert.Assert(t, f.check(text), "%s %q", name, text)
		}
		for _, text := range cases.bad {
			assert.Assert(t, !f.check(text), "%s %q", name, text)
		}
	}
}
