package cli_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

// What flags of note.add become, besides the title.
func TestCoercion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `{}`},
		{[]string{"--title", "012"}, `{"title":"012"}`},
		{[]string{"--title=a=b"}, `{"title":"a=b"}`},
		{[]string{"--title", ""}, `{"title":""}`},
		{[]string{"--title="}, `{"title":""}`},
		{[]string{"--title", "--done"}, `{"title":"--done"}`},
		{[]string{"--title", `say "hi"` + "\n"}, `{"title":"say \"hi\"\n"}`},
		{[]string{"--title", " null "}, `{"title":" null "}`},
		{[]string{"--title:=5"}, `{"title":5}`}, // wrong, but it is for the dispatcher to say so
		{[]string{"--title:=\"-\""}, `{"title":"-"}`},

		{[]string{"--count", "12"}, `{"count":12}`},
		{[]string{"--count", "-3"}, `{"count":-3}`},
		{[]string{"--count=-3"}, `{"count":-3}`},
		{[]string{"--count", " 7 "}, `{"count":7}`},
		{[]string{"--count", "1e2"}, `{"count":1e2}`},
		{[]string{"--count", "012"}, `{"count":"012"}`},
		{[]string{"--count", "many"}, `{"count":"many"}`},
		{[]string{"--count", "-"}, `{"count":"-"}`},
		{[]string{"--ratio", "0.5"}, `{"ratio":0.5}`},
		{[]string{"--ratio", ".5"}, `{"ratio":".5"}`},
		{[]string{"--ratio", "NaN"}, `{"ratio":"NaN"}`},
		{[]string{"--priority", "2"}, `{"priority":2}`},
		{[]string{"--priority", "9"}, `{"priority":9}`},
		{[]string{"--parent", "4"}, `{"parent":4}`},
		{[]string{"--parent", "null"}, `{"parent":null}`},
		{[]string{"--label", "null"}, `{"label":"null"}`},
		{[]string{"--label:=null"}, `{"label":null}`},

		{[]string{"--done"}, `{"done":true}`},
		{[]string{"--done=false"}, `{"done":false}`},
		{[]string{"--done=yes"}, `{"done":"yes"}`},
		{[]string{"--no-done"}, `{"done":false}`},
		{[]string{"--no-notify", "--done"}, `{"notify":false,"done":true}`},
		{[]string{"--no-show", "x"}, `{"no-show":"x"}`}, // a property's own name goes first
		{[]string{"--dry-run"}, `{"dry_run":true}`},
		{[]string{"--dry_run"}, `{"dry_run":true}`},
		{[]string{"--no-dry-run"}, `{"dry_run":false}`},

		{[]string{"--tags", "a"}, `{"tags":["a"]}`},
		{[]string{"--tags", "a", "--done", "--tags=b,c", "--tags", `["d"]`},
			`{"tags":["a","b,c","[\"d\"]"],"done":true}`},
		{[]string{`--tags:=["a","b"]`}, `{"tags":["a","b"]}`},
		{[]string{`--tags:="a"`}, `{"tags":["a"]}`},
		{[]string{`--tags:=[]`}, `{"tags":[]}`},
		{[]string{"--levels", "1", "--levels", "x", "--levels:=3"}, `{"levels":[1,"x",3]}`},
		{[]string{"--flags", "true", "--flags", "false"}, `{"flags":[true,false]}`},
		{[]string{"--grid:=[[1,2]]"}, `{"grid":[[1,2]]}`},
		{[]string{"--grid:=[1,2]", "--grid", "[3]"}, `{"grid":[[1,2],[3]]}`},
		{[]string{"--grid", "1"}, `{"grid":["1"]}`},
		{[]string{`--points={"width":1}`, `--points:={"width":2}`},
			`{"points":[{"width":1},{"width":2}]}`},
		{[]string{`--points:={"width":2}`}, `{"points":[{"width":2}]}`},

		{[]string{"--size.width", "3", "--title", "t", "--size.height=4"},
			`{"size":{"width":3,"height":4},"title":"t"}`},
		{[]string{`--size={"width":3}`}, `{"size":{"width":3}}`},
		{[]string{`--size:={"width":3}`, "--size.height", "5"}, `{"size":{"width":3,"height":5}}`},
		{[]string{"--env.PATH", "/bin", "--env.a.b", "5"}, `{"env":{"PATH":"/bin","a.b":"5"}}`},
		{[]string{"--env.no-x=1"}, `{"env":{"no-x":"1"}}`},
		{[]string{"--limits.cpu", "5"}, `{"limits":{"cpu":5}}`},
		{[]string{"--a.b", "x"}, `{"a.b":"x"}`},

		{[]string{"--extra", "5"}, `{"extra":"5"}`},
		{[]string{"--extra:=5"}, `{"extra":5}`},
		{[]string{"--extra", "a", "--extra", "b"}, `{"extra":["a","b"]}`},
		{[]string{`--extra:= { "a" : [ 1 ] } `}, `{"extra":{ "a" : [ 1 ] }}`},

		{[]string{"--json", `{"title":"a","count":1}`}, `{"title":"a","count":1}`},
		{[]string{"--json", ` {"title":"a"} `, "--title", "b"}, `{"title":"b"}`},
		{[]string{"--title", "b", `--json={"count":1, "title":"a"}`, "--done"},
			`{"count":1,"title":"b","done":true}`},
		{[]string{"--json", `{"size":{"width":1,"height":2},"tags":["a"]}`, "--size.width", "9",
			"--tags", "b"}, `{"size":{"width":9,"height":2},"tags":["b"]}`},
		{[]string{"--json", `{"json":"x"}`}, `{"json":"x"}`},
		{[]string{"--json", `{"title":"a","title":"b"}`, "--done"},
			`{"title":"a","title":"b","done":true}`},
		{[]string{"--json", `{"t\u0069tle":"a"}`, "--title", "b"}, `{"t\u0069tle":"b"}`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			assert.Equal(t, run(t, nil, append([]string{"note", "add"}, c.args...)...).sent, c.want)
		})
	}
}

// An object that is open takes what it does not know, too.
func TestOpenObject(t *testing.T) {
	r := run(t, nil, "open", "--a", "1", "--no-b", "x", "--c.d", "e", "--f:=[1]")
	assert.Equal(t, r.sent, `{"a":"1","no-b":"x","c.d":"e","f":[1]}`)
	assert.Equal(t, r.code, 0)
}

// Schemas that Go types do not turn into.
func TestCoercionBySchema(t *testing.T) {
	for _, c := range []struct{ schema, arg, want string }{
		{`{"type":"object","properties":{"x":{"type":["integer","string"]}}}`, "--x=5", `{"x":5}`},
		{`{"type":"object","properties":{"x":{"type":["integer","string"]}}}`, "--x=1.5",
			`{"x":"1.5"}`},
		{`{"type":"object","properties":{"x":{"type":["string","integer"]}}}`, "--x=5",
			`{"x":"5"}`},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"integer"},{"type":"number"}]}}}`,
			"--x=1.5", `{"x":1.5}`},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}}`,
			"--x=a", `{"x":"a"}`},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]}}}`,
			"--x=a", `{"x":["a"]}`},
		{`{"type":"object","properties":{"x":{"enum":["on",1,null,true]}}}`, "--x=on",
			`{"x":"on"}`},
		{`{"type":"object","properties":{"x":{"enum":["on",1,null,true]}}}`, "--x=1", `{"x":1}`},
		{`{"type":"object","properties":{"x":{"enum":["on",1,null,true]}}}`, "--x=null",
			`{"x":null}`},
		{`{"type":"object","properties":{"x":{"const":3}}}`, "--x=3", `{"x":3}`},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`,
			"--x=3", `{"x":3}`},
		{`{"type":"object","properties":{"x":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"number"}}}`,
			"--x=3", `{"x":3}`},
		{`{"type":"object","allOf":[{"properties":{"x":{"type":"number"}}}]}`, "--x=3", `{"x":3}`},
		{`{"type":"object","oneOf":[{"properties":{"x":{"type":"number"}}},{"properties":{"y":{"type":"number"}}}]}`,
			"--y=3", `{"y":3}`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "--y=3", `{"y":3}`},
		{`{"type":"object","additionalProperties":false,"patternProperties":{"^y":{}}}`, "--y=3",
			`{"y":"3"}`},
		{`{"type":"object","properties":{"x":{"$ref":"#"},"y":{"type":"integer"}}}`, "--x.x.x.y=3",
			`{"x":{"x":{"x":{"y":3}}}}`},
		{`{"type":"object","properties":{"l":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`,
			"--l=x", `{"l":["x"]}`},
		{`{"type":"object","properties":{"x":true}}`, "--x=3", `{"x":"3"}`},
		{`{"type":"object","properties":{"x":{"type":["boolean","null"]}}}`, "--x", `{"x":true}`},
	} {
		t.Run(c.schema+c.arg, func(t *testing.T) {
			catalog := dispatch.NewCatalog()
			dispatch.Add(catalog,
				dispatch.Spec{Name: "go", Summary: "Go.", Type: dispatch.Read,
					Input: []byte(c.schema)}, anything)
			assert.Equal(t, runOn(t, catalog, nil, "go", c.arg).sent, c.want)
		})
	}
}

func TestCommandLineErrors(t *testing.T) {
	_, absent := os.Open("/no/file")
	for _, c := range []struct{ args, want string }{
		{"", "notes: missing_param: no operation is named; notes --help lists them"},
		{"test -o text", "notes: test: missing_param: more of the operation's name is missing; notes test --help lists what there is"},
		{"note archive --title a",
			"notes: note archive: missing_param: more of the operation's name is missing; notes note archive --help lists what there is"},
		{"nope", "notes: nope: unknown_operation: there is no such operation; did you mean note?"},
		{"test prnit", "notes: test prnit: unknown_operation: there is no such operation; did you mean test print?"},
		{"test xxxxxxxx",
			"notes: test xxxxxxxx: unknown_operation: there is no such operation; there are test fail, test print, test wait"},
		{"note add milk --done",
			"notes: note add: invalid_input: unexpected argument \"milk\"; did you mean --title milk?"},
		{"note add --done true",
			"notes: note add: invalid_input: unexpected argument \"true\"; write --done=true"},
		{"note add --title a b",
			"notes: note add: invalid_input: unexpected argument \"b\"; did you mean --title b?"},
		{"test wait now", "notes: test wait: invalid_input: unexpected argument \"now\""},
		{"test wait --now",
			"notes: test wait: invalid_input: unknown flag --now; notes test wait --help lists the flags"},
		{"note add --titel x",
			"notes: note add: invalid_input: unknown flag --titel; did you mean --title?"},
		{"note add -title x",
			"notes: note add: invalid_input: unknown flag -title; did you mean --title?"},
		{"note add --dryrun",
			"notes: note add: invalid_input: unknown flag --dryrun; did you mean --dry_run?"},
		{"note add --size.widht 3",
			"notes: note add: invalid_input: unknown flag --size.widht; did you mean --size.width?"},
		{"note add --no-title", "notes: note add: invalid_input: unknown flag --no-title; notes note add --help lists the flags"},
		{"note add --no-done=true", "notes: note add: invalid_input: --no-done takes no value"},
		{"note add --", "notes: note add: invalid_input: unknown flag --; notes note add --help lists the flags"},
		{"note add --title", "notes: note add: invalid_input: --title wants a value"},
		{"note add --title a --title b",
			"notes: note add: invalid_input: --title is given twice, and is not an array"},
		{"note add --size.width 1 --size:={}",
			"notes: note add: invalid_input: --size: parts of it are given already; give all of it first"},
		{"note add --size:=5 --size.width 1",
			"notes: note add: invalid_input: --size.width leads into a value that is not an object"},
		{"note add --extra:=x",
			"notes: note add: invalid_input: --extra: invalid JSON at byte 0: 'x' cannot start a value"},
		{"note add --json []",
			"notes: note add: invalid_input: --json: want a JSON object, not []"},
		{"note add --json {} --json {}", "notes: note add: invalid_input: --json is given twice"},
		{"note add --title @",
			"notes: note add: invalid_input: --title: the name of a file is missing after @; write @@ for a text that begins with @"},
		{"note add --title @/no/file",
			"notes: note add: invalid_input: --title: cannot read /no/file: " +
				absent.(*fs.PathError).Err.Error()},
		{"note add --title @/",
			"notes: note add: invalid_input: --title: cannot read /: is a directory"},
		{"note add -o yaml", "notes: note add: invalid_input: -o: \"yaml\" is not one of text, json"},
		{"note add -o", "notes: note add: invalid_input: -o wants a value"},
		{"completion", "notes: completion: invalid_input: name a shell: bash, zsh, fish, powershell"},
		{"completion tcsh", "notes: completion tcsh: invalid_input: name a shell: bash, zsh, fish, powershell"},
		{"completion bash --now", "notes: completion bash: invalid_input: unknown flag --now"},

		// What follows comes from the dispatcher.
		{"note add", "notes: note add: missing_param: --title is missing"},
		{"note add --title t --size.height 1",
			"notes: note add: missing_param: --size.width is missing"},
		{"note add --title t --points:=[{}]",
			"notes: note add: missing_param: --points: points[0]: missing required property \"width\""},
		{"note add --title t --count -6 --format pdf",
			"notes: note add: invalid_input: --count must be at least -5, not -6; --format must be \"plain\", \"markdown\" or \"html\", not \"pdf\""},
		{"note add --count many",
			"notes: note add: invalid_input: --count must be an integer, not \"many\"; --title is missing"},
		{"note add --title t --levels x",
			"notes: note add: invalid_input: --levels: levels[0] must be an integer, not \"x\""},
		{`note add --title t --json {"count":"x","colour":1}`,
			"notes: note add: invalid_input: --count must be an integer, not \"x\"; unknown property \"colour\" (did you mean \"colours\"?)"},
		{`note add --title t --json {"json":5}`,
			"notes: note add: invalid_input: json must be a string, not 5"},
		{"note add --title t --size.height 1.5 --size.width 1",
			"notes: note add: invalid_input: --size.height must be an integer or null, not 1.5"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := run(t, nil, strings.Fields(c.args)...)
			assert.Equal(t, r.err, c.want+"\n")
			assert.Equal(t, r.out, "")
			want := 2
			if strings.Contains(c.want, "unknown_operation") {
				want = 5
			}
			assert.Equal(t, r.code, want)
		})
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	text, object, binary := file("text", "two\nlines\n"), file("object", "{\"title\" :\n\"t\"}\n"),
		file("binary", "\xff\x00")
	for _, c := range []struct {
		name string
		args []string
		want string // the arguments, or the error
	}{
		{"file", []string{"--title", "@" + text}, `{"title":"two\nlines\n"}`},
		{"file with =", []string{"--title=@" + text}, `{"title":"two\nlines\n"}`},
		{"escaped", []string{"--title", "@@" + text}, `{"title":"@` +
			strings.ReplaceAll(text, `\`, `\\`) + `"}`},
		{"escaped twice", []string{"--title", "@@@"}, `{"title":"@@"}`},
		{"stdin", []string{"--title", "-"}, `{"title":"from stdin"}`},
		{"stdin with @", []string{"--title=@-"}, `{"title":"from stdin"}`},
		{"in arrays", []string{"--tags", "-", "--tags", "@" + text, "--tags", "@@x"},
			`{"tags":["from stdin","two\nlines\n","@x"]}`},
		{"in maps", []string{"--env.A", "@" + text}, `{"env":{"A":"two\nlines\n"}}`},
		{"in anything", []string{"--extra", "@" + text}, `{"extra":"two\nlines\n"}`},
		{"as base64", []string{"--blob", "@" + binary}, `{"blob":"/wA="}`},
		{"base64 as it is", []string{"--blob", "/wA="}, `{"blob":"/wA="}`},
		{"JSON of a flag", []string{"--extra:=@" + object}, `{"extra":{"title" :` + "\n" + `"t"}}`},
		{"whole", []string{"--json", "@" + object}, `{"title" :` + "\n" + `"t"}`},
		{"whole and flags", []string{"--json", "@" + object, "--done"},
			`{"title":"t","done":true}`},
		{"not for numbers", []string{"--levels", "-"}, `{"levels":["-"]}`},
		{"stdin is read once", []string{"--title", "-", "--label", "@-"},
			"notes: note add: invalid_input: --label: standard input has been read already, for --title\n"},
		{"stdin is no JSON", []string{"--json", "-"},
			"notes: note add: invalid_input: --json: invalid JSON at byte 0: expected false\n"},
		{"binary as text", []string{"--title", "@" + binary},
			"notes: note add: invalid_input: --title: its value is not UTF-8 text\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, input("from stdin"), append([]string{"note", "add"}, c.args...)...)
			assert.Equal(t, cmp.Or(r.sent, r.err), c.want)
		})
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the cable is gone") }

func TestSourceLimits(t *testing.T) {
	r := run(t, func(std *cli.IO) { std.In = zeros{} }, "note", "add", "--title", "-")
	assert.Equal(t, r.err,
		"notes: note add: invalid_input: --title: cannot read standard input: it is larger than 64 MiB\n")
	r = run(t, func(std *cli.IO) { std.In = broken{} }, "note", "add", "--title", "-")
	assert.Equal(t, r.err,
		"notes: note add: invalid_input: --title: cannot read standard input: the cable is gone\n")
}

// A person who presses Ctrl-C instead of typing gets out.
func TestCancelWhileReading(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	catalog := notesCatalog()
	var errs strings.Builder
	reading := make(chan struct{})
	std := cli.IO{Program: "notes", In: signalling{in, reading}, Out: io.Discard, Err: &errs}
	go func() {
		<-reading
		cancel()
	}()
	code := cli.Run(ctx, newDispatcher(catalog), []string{"note", "add", "--title", "-"}, std)
	assert.Equal(t, code, 130)
	assert.Equal(t, errs.String(),
		"notes: note add: cancelled: --title: interrupted while reading standard input\n")
}

type signalling struct {
	io.Reader
	began chan struct{}
}

func (s signalling) Read(p []byte) (int, error) {
	close(s.began)
	return s.Reader.Read(p)
}
