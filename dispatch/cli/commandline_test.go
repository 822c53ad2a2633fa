package cli_test

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// typed is the words of a command line as sh has them. Where there is no sh, as on Windows, they
// are those of a script, which are the same: see TestSplitAsShellsDo.
func typed(t *testing.T, line string) (words []string) {
	t.Helper()
	line = strings.TrimSpace(line)
	if _, err := exec.LookPath("sh"); err != nil && runtime.GOOS == "windows" {
		var s shellwords.Splitter
		for _, b := range []byte(line) {
			s.Add(b)
		}
		for _, word := range s.Words() {
			words = append(words, word.Text)
		}
		return words
	}
	script := "for word in " + line + `; do printf '%s\0' "$word"; done`
	split, err := exec.Command("sh", "-c", script).Output()
	assert.NilError(t, err)
	words = strings.Split(string(split), "\x00")
	return words[:len(words)-1]
}

// What the help shows as examples, a shell can run, and the operation then gets the arguments of
// the example.
func TestExamplesInHelp(t *testing.T) {
	inferred, err := schema.For[noteInput](schema.Exact)
	assert.NilError(t, err)
	const open = `{"type":"object"}`
	for _, c := range []struct{ schema, example, shown string }{
		{string(inferred), `{"title":"Milk"}`, `--title Milk`},
		{string(inferred), `{"title":""}`, `--title ""`},
		{string(inferred), `{"title":"it's $HOME"}`, `--title 'it'\''s $HOME'`},
		{string(inferred), `{"title":"@home","tags":["@a","b"]}`,
			`--title @@home --tags @@a --tags b`},
		{string(inferred), `{"title":"-"}`, `--title:='"-"'`},
		{string(inferred), `{"title":"--done"}`, `--title --done`},
		{string(inferred), `{"title":"a\nb\u001b"}`, `--title:='"a\nb\u001b"'`},
		{string(inferred), `{"title":"\u00e5"}`, `--title "å"`},
		{string(inferred), `{"title":"null","label":"null"}`, `--title null --label null`},
		{string(inferred), `{"title":"t","label":null,"parent":null}`,
			`--title t --label:=null --parent null`},
		{string(inferred), `{"title":"t","count":-3,"ratio":1e-2,"priority":2}`,
			`--title t --count -3 --ratio 1e-2 --priority 2`},
		{string(inferred), `{"title":"t","done":true,"dry_run":false}`,
			`--title t --done --dry_run=false`},
		{string(inferred), `{"title":"t","tags":[],"levels":[1,2],"flags":[true]}`,
			`--title t --tags:="[]" --levels 1 --levels 2 --flags true`},
		{string(inferred), `{"title":"t","tags":["a\n","b"]}`, `--title t --tags:='["a\n","b"]'`},
		{string(inferred), `{"title":"t","size":{"width":1,"height":2}}`,
			`--title t --size.width 1 --size.height 2`},
		{string(inferred), `{"title":"t","env":{}}`, `--title t --env "{}"`},
		{string(inferred), `{"title":"t","env":{"A":"1","b.c":"x y"}}`,
			`--title t --env.A 1 --env.b.c "x y"`},
		{string(inferred), `{"title":"t","env":{"A=B":"1","C":"2"}}`,
			`--title t --env:='{"A=B":"1","C":"2"}'`},
		{string(inferred), `{"title":"t","extra":[1,{"a":null}]}`,
			`--title t --extra:='[1,{"a":null}]'`},
		{string(inferred), `{"title":"t","extra":["x"]}`, `--title t --extra:='["x"]'`},
		{string(inferred), `{"title":"t","extra":"5"}`, `--title t --extra 5`},
		{string(inferred), `{"title":"t","extra":5}`, `--title t --extra:=5`},
		{string(inferred), `{"title":"t","points":[{"width":1}],"grid":[[1],[2]]}`,
			`--title t --points:='[{"width":1}]' --grid:="[[1],[2]]"`},
		{string(inferred), `{"title":"t","json":"x"}`, `--json '{"title":"t","json":"x"}'`},
		{string(inferred), `{"title":"t","a.b":"x"}`, `--title t --a.b x`},
		{open, `{}`, ``},
		{open, `{"a b":1}`, `--json '{"a b":1}'`},
		{open, `{"":1}`, `--json '{"":1}'`},
		{open, `{"no-a":"x","help":1}`, `--json '{"no-a":"x","help":1}'`},
		{open, `{"a":{"b":{"c":"d"}}}`, `--a:='{"b":{"c":"d"}}'`},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}}},"a.b":{}}}`,
			`{"a":{"b":"1"},"a.b":"2"}`, `--a:='{"b":"1"}' --a.b 2`},
		{`{"type":"object","properties":{"no-a":{},"a":{"type":"boolean"}}}`,
			`{"a":false,"no-a":"x"}`, `--a=false --no-a x`},
	} {
		t.Run(c.example, func(t *testing.T) {
			catalog := dispatch.NewCatalog()
			dispatch.Add(catalog, dispatch.Spec{
				Name: "go", Summary: "Go.", Type: dispatch.Read, Input: json.RawMessage(c.schema),
				Examples: []dispatch.Example{{Summary: "This", Input: json.RawMessage(c.example)}},
			}, anything)
			_, shown, ok := strings.Cut(runOn(t, catalog, nil, "go", "--help").out,
				"  # This\n  notes go")
			assert.Assert(t, ok)
			assert.Equal(t, strings.TrimSpace(shown), c.shown)

			r := runOn(t, catalog, nil, typed(t, "go "+shown)...)
			assert.Equal(t, r.code, 0, r.err)
			var got, want any
			assert.NilError(t, json.Unmarshal([]byte(r.sent), &got))
			assert.NilError(t, json.Unmarshal([]byte(c.example), &want))
			assert.DeepEqual(t, got, want)
		})
	}
}
