package arguments

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/form"
	"gotest.tools/v3/assert"
)

const everyType = `{
	"type":"object",
	"properties":{
		"s":{"type":"string"}, "i":{"type":"integer"}, "n":{"type":"number"}, "b":{"type":"boolean"}, "z":{"type":"null"},
		"si":{"type":["string","integer"]}, "is":{"type":["integer","string"]},
		"in":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
		"sn":{"type":["string","null"]},
		"e":{"enum":["red","1",2,true,null]}, "ei":{"type":"integer","enum":[1,2]}, "es":{"anyOf":[{"enum":["auto"]},{"type":"integer"}]}, "c":{"const":7},
		"as":{"type":"array","items":{"type":"string"}}, "ai":{"type":"array","items":{"type":"integer"}}, "a":{"type":"array"},
		"sas":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]},
		"asn":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},
		"o":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"object","properties":{"deep":{"type":"boolean"}}}}},
		"env":{"type":"object","additionalProperties":{"type":"integer"}},
		"r":{"$ref":"#/$defs/color"}, "ro":{"$ref":"#/$defs/point"}, "on":{"anyOf":[{"$ref":"#/$defs/point"},{"type":"null"}]},
		"all":{"allOf":[{"$ref":"#/$defs/point"},{"description":"x"}]},
		"any":{}, "true":true, "dot.ted":{"type":"integer"}, "lost":{"$ref":"#/$defs/missing"}, "loop":{"$ref":"#/$defs/loop"}
	},
	"$defs":{"color":{"enum":["red","blue"]},"point":{"type":"object","properties":{"x":{"type":"number"}}},"loop":{"$ref":"#/$defs/loop"}}
}`

func TestCoercionBySchema(t *testing.T) {
	for _, tt := range []struct{ words, want string }{
		{`s=012`, `{"s":"012"}`},
		{`s=true`, `{"s":"true"}`},
		{`s=`, `{"s":""}`},
		{`s=a=b`, `{"s":"a=b"}`},
		{`s="q"`, `{"s":"\"q\""}`},
		{`i=5`, `{"i":5}`},
		{`i=-5`, `{"i":-5}`},
		{`i=9007199254740993`, `{"i":9007199254740993}`},
		{`i=1.0`, `{"i":1.0}`},   // an integer in JSON Schema
		{`i=1.5`, `{"i":1.5}`},   // the schema refuses it: not an integer
		{`i=012`, `{"i":"012"}`}, // the schema refuses it: a string
		{`i=abc`, `{"i":"abc"}`},
		{`n=1e3`, `{"n":1e3}`},
		{`n=.5`, `{"n":".5"}`},
		{`n=NaN`, `{"n":"NaN"}`},
		{`b=true`, `{"b":true}`},
		{`b=yes`, `{"b":"yes"}`},
		{`z=null`, `{"z":null}`},
		{`si=5`, `{"si":"5"}`}, // the first type that fits
		{`is=5`, `{"is":5}`},
		{`is=x`, `{"is":"x"}`},
		{`in=5`, `{"in":5}`},
		{`in=null`, `{"in":null}`},
		{`sn=null`, `{"sn":"null"}`},
		{`sn:=null`, `{"sn":null}`},
		{`e=red`, `{"e":"red"}`},
		{`e=1`, `{"e":"1"}`},
		{`e=2`, `{"e":2}`},
		{`e=true`, `{"e":true}`},
		{`e=null`, `{"e":null}`},
		{`ei=2`, `{"ei":2}`},
		{`ei=3`, `{"ei":3}`},
		{`es=auto`, `{"es":"auto"}`},
		{`es=5`, `{"es":5}`},
		{`c=7`, `{"c":7}`},
		{`as=x`, `{"as":["x"]}`},
		{`as=x as=y`, `{"as":["x","y"]}`},
		{`as=["x","y"]`, `{"as":["x","y"]}`},
		{`ai=1 s=x ai=2`, `{"ai":[1,2],"s":"x"}`}, // at its first occurrence
		{`a=1`, `{"a":["1"]}`},
		{`sas=x`, `{"sas":"x"}`},
		{`sas=x sas=y`, `{"sas":["x","y"]}`},
		{`asn=1`, `{"asn":[1]}`},
		{`asn=null`, `{"asn":null}`},
		{`s=x s=y`, `{"s":["x","y"]}`}, // the schema refuses it: an array
		{`o={"x":1}`, `{"o":{"x":1}}`},
		{`o=x`, `{"o":"x"}`},
		{`o.x=1`, `{"o":{"x":1}}`},
		{`o.x=1 o.y.deep=true`, `{"o":{"x":1,"y":{"deep":true}}}`},
		{`o.y.deep=true s=a o.x=2`, `{"o":{"y":{"deep":true},"x":2},"s":"a"}`},
		{`env.A=1 env.B.C=2`, `{"env":{"A":1,"B.C":2}}`},
		{`r=red`, `{"r":"red"}`},
		{`ro.x=1.5`, `{"ro":{"x":1.5}}`},
		{`on.x=1`, `{"on":{"x":1}}`},
		{`on=null`, `{"on":null}`},
		{`all.x=1`, `{"all":{"x":1}}`},
		{`any=5`, `{"any":"5"}`},
		{`any:=5`, `{"any":5}`},
		{`true=5`, `{"true":"5"}`},
		{`dot.ted=5`, `{"dot.ted":5}`},
		{`s.x=5`, `{"s.x":"5"}`}, // s is not an object
		{`.=5 a.=6`, `{".":"5","a.":"6"}`},
		{`unknown=5`, `{"unknown":"5"}`},
		{`lost=5 loop=6`, `{"lost":"5","loop":"6"}`},
		{`i:=[1,{"a":null}]`, `{"i":[1,{"a":null}]}`},
		{`ai:=1 ai:=2`, `{"ai":[1,2]}`},
		{`s:="a\u0041"`, `{"s":"a\u0041"}`},
	} {
		var assignments []Assignment
		for _, word := range strings.Fields(tt.words) {
			a, err := ParseAssignment(word)
			assert.NilError(t, err, word)
			assignments = append(assignments, a)
		}
		got, err := BuildArguments([]byte("{}"), assignments, []byte(everyType))
		assert.NilError(t, err, tt.words)
		assert.Equal(t, string(got), tt.want, tt.words)
	}
}

func TestArgumentsOnTopOfData(t *testing.T) {
	for _, tt := range []struct{ data, words, want, err string }{
		{`{"s":"a","i":1}`, "i=2", `{"s":"a","i":2}`, ""},
		{`{"s" : "\u0041" }`, "", `{"s":"\u0041"}`, ""},
		{`{"o":{"x":1,"q":[1, 2]}}`, "o.x=5", `{"o":{"x":5,"q":[1, 2]}}`, ""},
		{`{"o":5}`, "o.x=5", "", `argument "o.x": "o" is given as 5, which is not an object`},
		{`{"o":null}`, "o.x=5", "", `argument "o.x": "o" is given as null, which is not an object`},
		{`{"s":1,"s":2}`, "", "", `-d has "s" twice`},
		{`{"o":{"x":1,"x":2}}`, "o.x=1", "", `argument "o.x": o has "x" twice`},
		{`{}`, `o.x=1 o={"x":2}`, "", `argument "o": parts of it are given already; give all of it first`},
		{`{}`, `o={"y":2} o.x=1`, `{"o":{"y":2,"x":1}}`, ""},
	} {
		var assignments []Assignment
		for _, word := range strings.Fields(tt.words) {
			a, err := ParseAssignment(word)
			assert.NilError(t, err)
			assignments = append(assignments, a)
		}
		got, err := BuildArguments([]byte(tt.data), assignments, []byte(everyType))
		if tt.err != "" {
			assert.Error(t, err, tt.err)
			assert.Equal(t, err.(*command.Failure).Code, "bad_args")
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, string(got), tt.want)
	}
}

func TestAssignmentsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	text := write("text", "two\nlines\n")
	a, err := ParseAssignment("s=@" + text)
	assert.NilError(t, err)
	assert.Equal(t, a.Text, "two\nlines\n", "every byte of it")

	number := write("number", "5\n")
	a, err = ParseAssignment("i=@" + number)
	assert.NilError(t, err)
	integer := form.NewSchema([]byte(`{"type":"integer"}`))
	assert.Equal(t, string(integer.Coerce(a.Text)), "5")

	object := write("object", "{\n  \"a\": 1\r\n}\n")
	a, err = ParseAssignment("o:=@" + object)
	assert.NilError(t, err)
	assert.Equal(t, string(a.JSON), `{"a":1}`, "a frame holds no line ends")

	_, err = ParseAssignment("s=@" + write("binary", "\xff\x00"))
	assert.Error(t, err, `argument "s" is not UTF-8, which JSON cannot hold`)
	_, err = ParseAssignment("s=@" + filepath.Join(dir, "missing"))
	assert.ErrorContains(t, err, "missing: "+syscall.ENOENT.Error())
	assert.Equal(t, err.(*command.Failure).Hint, `for text that begins with @, write s=@@…`)

	huge := filepath.Join(dir, "huge")
	assert.NilError(t, os.WriteFile(huge, nil, 0o600))
	assert.NilError(t, os.Truncate(huge, form.MaxFile+1))
	_, err = ParseAssignment("s=@" + huge)
	assert.Error(t, err, `argument "s": it is larger than 64 MiB`)
	assert.Equal(t, err.(*command.Failure).ExitCode(), 7)
}

func TestInvalidAssignments(t *testing.T) {
	for _, tt := range []struct{ word, code, why string }{
		{"npx", "usage",
			`unexpected argument "npx": an argument of the tool is name=value or name:=JSON`},
		{"=x", "usage", `"=x" has no name before the =`},
		{":=1", "usage", `":=1" has no name before the =`},
		{"a:=hello", "bad_args", `argument "a": invalid JSON at byte 0: 'h' cannot start a value`},
		{"a:=", "bad_args", `argument "a": invalid JSON at byte 0: a value is missing`},
		{"a:={", "bad_args",
			`argument "a": invalid JSON at byte 1: expected a member name in quotation marks`},
		{"a=\xff", "bad_args", `argument "a" is not UTF-8, which JSON cannot hold`},
	} {
		_, err := ParseAssignment(tt.word)
		f, ok := err.(*command.Failure)
		assert.Assert(t, ok, tt.word)
		assert.Equal(t, f.Code, tt.code)
		assert.Equal(t, f.Why, tt.why)
	}
}

func TestData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "args.json")
	assert.NilError(t, os.WriteFile(file, []byte("{\"b\": 1}\n"), 0o600))
	for _, tt := range []struct{ given, want, err string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{"{\n\"a\" : 1\n}", `{"a":1}`, ""},
		{"@" + file, `{"b": 1}`, ""},
		{"-", `{"in":true}`, ""},
		{"", "", "-d: invalid JSON at byte 0: a value is missing"},
		{"[1]", "", "-d: want a JSON object, not [1]"},
		{"{bad}", "", "-d: invalid JSON at byte 1: expected a member name in quotation marks"},
		{"@" + file + ".missing", "", "-d: " + file + ".missing: " + syscall.ENOENT.Error()},
	} {
		got, err := ParseData(t.Context(), tt.given, strings.NewReader(` {"in":true} `))
		if tt.err != "" {
			assert.Error(t, err, tt.err)
			assert.Equal(t, err.(*command.Failure).Code, "bad_args")
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, string(got), tt.want)
	}
}

func TestReadingStdinEndsWithASignal(t *testing.T) {
	r, w := io.Pipe() // nothing is written to it
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(command.SignalError{Signal: os.Interrupt})
	_, err := ParseData(ctx, "-", r)
	assert.ErrorContains(t, err, "interrupt")
	assert.Equal(t, command.AsFailure(ctx, err).ExitCode(), 130)
}
