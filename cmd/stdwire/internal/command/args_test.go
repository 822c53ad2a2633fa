package command

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// parsed is what a grammar of every kind of flag has made of its arguments.
type parsed struct {
	words, command, roots []string
	output                string
	timeout               time.Duration
	write                 bool
}

func parseAll(args ...string) (p parsed, help bool, err error) {
	p.timeout = time.Minute
	g := Grammar{
		Flags: []Flag{
			FormatFlag(&p.output, "text", "json"),
			DurationFlag(&p.timeout, "--timeout", "how long"),
			SwitchFlag(&p.write, "--write", "write"),
			{Name: "--root", Value: "DIR", Many: true,
				Set: func(v string) error { p.roots = append(p.roots, v); return nil }},
		},
		Word:    func(w string) error { p.words = append(p.words, w); return nil },
		Command: func(words []string) { p.command = words },
	}
	help, err = g.Parse(args)
	return p, help, err
}

func TestFlagsStandAnywhereBeforeTheDashes(t *testing.T) {
	for _, args := range []string{
		"-o json --timeout 5s --write --root a --root b x y -- npx -y foo --write",
		"x -o json y --timeout 5s --root a --root b --write -- npx -y foo --write",
		"x y --write --root=a --root=b --timeout=5s -o=json -- npx -y foo --write",
	} {
		p, help, err := parseAll(strings.Fields(args)...)
		assert.NilError(t, err, args)
		assert.Assert(t, !help)
		assert.DeepEqual(t, p.words, []string{"x", "y"})
		assert.DeepEqual(t, p.command, []string{"npx", "-y", "foo", "--write"})
		assert.DeepEqual(t, p.roots, []string{"a", "b"})
		assert.Equal(t, p.output, "json")
		assert.Equal(t, p.timeout, 5*time.Second)
		assert.Assert(t, p.write)
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		args        []string
		first, last string
		why         string
	}{
		{nil, "", "", ""},
		{[]string{"a"}, "a", "", ""},
		{[]string{"a", "b"}, "a", "b", ""},
		{[]string{"a", "b", "c"}, "a", "b", `unexpected argument "c"`},
		{[]string{"a", "b", ""}, "a", "b", `unexpected argument ""`},
		{[]string{""}, "", "", "an argument is empty"},
		{[]string{"a", "", "b"}, "a", "", "an argument is empty"},
	} {
		var first, last string
		g := Grammar{Word: Arguments(&first, &last)}
		_, err := g.Parse(tt.args)
		if tt.why == "" {
			assert.NilError(t, err, tt.args)
		} else {
			assert.Error(t, err, tt.why)
		}
		assert.Equal(t, first, tt.first, tt.args)
		assert.Equal(t, last, tt.last, tt.args)
	}
}

func TestParse(t *testing.T) {
	p, _, err := parseAll()
	assert.NilError(t, err)
	assert.Equal(t, p.output, "text", "the first format is the default")

	p, _, err = parseAll("-", "n=-1", "--timeout", "0", "--root", "-x", "--root=a=b")
	assert.NilError(t, err)
	assert.DeepEqual(t, p.words, []string{"-", "n=-1"})
	// the value of a flag is whatever stands there
	assert.DeepEqual(t, p.roots, []string{"-x", "a=b"})
	assert.Equal(t, p.timeout, time.Duration(-1), "for ever")

	for _, args := range []string{"-h", "--help", "x --help y", "-o json -h -- foo"} {
		_, help, err := parseAll(strings.Fields(args)...)
		assert.NilError(t, err)
		assert.Assert(t, help, args)
	}
	_, help, _ := parseAll("x", "--", "foo", "--help")
	assert.Assert(t, !help, "that is the server's")
}

func TestWhatParseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, why, hint string }{
		{"--tiemout 3s", "unknown flag --tiemout", "did you mean --timeout?"},
		{"--tiemout=3s", "unknown flag --tiemout", "did you mean --timeout?"},
		{"-x", "unknown flag -x", ""},
		{"---", "unknown flag ---", ""},
		{"-ojson", "unknown flag -ojson", ""},
		{"-o", "-o wants a value: -o text|json", ""},
		{"-o jsn", `-o: "jsn" is not one of text, json`, "did you mean json?"},
		{"-o yaml", `-o: "yaml" is not one of text, json`, ""},
		{"-o json -o text", "-o is given twice", ""},
		{"--write --write", "--write is given twice", ""},
		{"--write=yes", "--write takes no value", ""},
		{"--timeout 30", `--timeout: "30" is not a duration`, "write 500ms, 30s, 5m or 1h"},
		{"--timeout -5s", "--timeout: -5s is negative", ""},
		{"--timeout", "--timeout wants a value: --timeout DURATION", ""},
		{"x --", "the server command is missing after --",
			"to use stdwire's own server, leave out the --"},
	} {
		_, _, err := parseAll(strings.Fields(tt.args)...)
		f, ok := err.(*Failure)
		assert.Assert(t, ok, "%s: %v", tt.args, err)
		assert.Equal(t, f.Code, "usage", tt.args)
		assert.Equal(t, f.Why, tt.why)
		assert.Assert(t, strings.HasPrefix(f.Hint, tt.hint) &&
			(f.Hint == "") == (tt.hint == ""), "%s: %s", tt.args, f.Hint)
	}
}

func TestGrammarWithoutWordsOrCommand(t *testing.T) {
	none := Grammar{}
	_, err := none.Parse([]string{"x"})
	assert.Error(t, err, `unexpected argument "x"`)
	_, err = none.Parse([]string{"--", "x"})
	assert.Error(t, err, "this command takes no server command after --")

	forgot := Grammar{Command: func([]string) {}}
	_, err = forgot.Parse([]string{"npx", "-y", "foo"})
	assert.Equal(t, err.(*Failure).Hint, "a server command follows --: -- npx -y foo")

	var rest []string
	all := Grammar{Rest: func(words []string) { rest = words }}
	_, err = all.Parse([]string{"fs", "read", "--path", "x", "--help", "--", "y"})
	assert.NilError(t, err)
	assert.Equal(t, strings.Join(rest, " "), "fs read --path x --help -- y")
}

func TestShortDuration(t *testing.T) {
	for text, want := range map[string]string{"5m": "5m", "1h": "1h", "90s": "1m30s", "20s": "20s",
		"10m": "10m", "1h20m": "1h20m", "100ms": "100ms"} {
		d, err := time.ParseDuration(text)
		assert.NilError(t, err)
		assert.Equal(t, ShortDuration(d), want)
	}
}

// The name of a connection may be anywhere; a second one is an argument like others.
func TestConnectionAnywhere(t *testing.T) {
	for _, args := range [][]string{{"@c", "a", "b"}, {"a", "@c", "b"}, {"a", "b", "@c"}} {
		var words []string
		name := ""
		g := Grammar{Word: func(word string) error { words = append(words, word); return nil },
			Connection: func(given string) error { name = given; return nil }}
		_, err := g.Parse(append(args, "@d"))
		assert.NilError(t, err)
		assert.Equal(t, name, "c")
		assert.DeepEqual(t, words, []string{"a", "b", "@d"})
	}
}

// --json stands for -o json wherever that is a format.
func TestJSONSwitch(t *testing.T) {
	for _, tt := range []struct{ args, formats, output, why string }{
		{"--json", "text json", "json", ""},
		{"-o json", "text json", "json", ""},
		{"--json -o json", "text json", "text", "-o is given twice"},
		{"--json=x", "text json", "text", "--json takes no value"},
		{"--json", "text sarif", "text", "unknown flag --json"},
	} {
		var output string
		g := Grammar{Flags: []Flag{FormatFlag(&output, strings.Fields(tt.formats)...)}}
		_, err := g.Parse(strings.Fields(tt.args))
		if tt.why == "" {
			assert.NilError(t, err)
			assert.Equal(t, output, tt.output)
		} else {
			assert.ErrorContains(t, err, tt.why, tt.args)
		}
	}
	assert.Assert(t, wantsJSON([]string{"ls", "--json"}))
	assert.Assert(t, !wantsJSON([]string{"run", "fs", "list", "--json", "{}"}))
	assert.Assert(t, !wantsJSON([]string{"ls", "--", "x", "--json"}))
}
