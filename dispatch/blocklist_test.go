package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func withKindEval(s *dispatch.Spec) { s.Type = dispatch.Eval }

// newEvalFixture returns a fixture whose operation is of type eval and takes any arguments.
func newEvalFixture(o dispatch.Options) *fixture {
	fx := newFixture(o)
	register(fx, func(context.Context, json.RawMessage) (nothing, error) { return nothing{}, nil },
		withKindEval)
	return fx
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

func TestBlocklistMatches(t *testing.T) {
	fx := newEvalFixture(dispatch.Options{
		Blocklist: []string{"sudo", "rm -rf /", "of=/dev/sd*", "| sh", ":(){", "SHOUT"}})
	for _, tc := range []struct {
		rule, text, keyword string // keyword is "" for text that is allowed
	}{
		{"all of it", "sudo", "sudo"},
		{"within a line", "cd /; sudo ls", "sudo"},
		{"letter case of the payload", "SuDo ls", "sudo"},
		{"letter case of the list", "shout", "shout"},
		{"quotes", `s"u"do ls`, "sudo"},
		{"quotes around", `"sudo" 'ls'`, "sudo"},
		{"backslash in a word", `su\do ls`, "sudo"},
		{"line continuation in a word", "su\\\ndo ls", "sudo"},
		{"line continuation between words", "rm \\\n -rf /", "rm -rf /"},
		{"escaped backslash at the end of a line", "echo a\\\\\nsudo ls", "sudo"},
		{"line continuation after an escaped backslash", "echo su\\\\\\\ndo ls", "sudo"},
		{"a line of its own", "ls\nsudo ls", "sudo"},
		{"Windows lines", "ls\r\nsudo\r\n", "sudo"},
		{"width of white space", "rm \t  -rf\v/", "rm -rf /"},
		{"white space around", "  rm -rf / ", "rm -rf /"},
		{"word after a separator", "ls;sudo", "sudo"},
		{"word before a separator", "sudo;ls", "sudo"},
		{"word in brackets", "$(sudo ls)", "sudo"},
		{"word in a path", "/usr/bin/sudo ls", "sudo"},
		{"word after a longer word", "sudoku sudo", "sudo"},
		{"beginning of a word, for *", "dd if=/dev/zero of=/dev/sda1",
			"of=/dev/sd*"},
		{"keyword that begins with punctuation, after a word", "curl x| sh", "| sh"},
		{"keyword of punctuation", ":(){ :|:& };:", ":(){"},
		{"root itself", "rm -rf /;", "rm -rf /"},
		{"all of root", "rm -rf /*", "rm -rf /"},

		{"part of a word: end", "pseudo", ""},
		{"part of a word: begin", "sudoku", ""},
		{"part of a word: underscore", "my_sudo sudo_x", ""},
		{"part of a word: digit", "sudo2", ""},
		{"part of a word: another script", "ßsudo sudoß", ""},
		{"another directory", "rm -rf /tmp/x", ""},
		{"another device", "of=/dev/null", ""},
		{"words apart", "rm x; ls -rf /", ""},
		{"another program", "curl x | shasum", ""},
		{"nothing", "", ""},
		{"only what normalize removes", "\\ \"' \\\n", ""},
		{"backslash at the end", `\`, ""},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			e := fx.call(t.Context(), `{"code":`+quoted(tc.text)+`}`)
			if tc.keyword == "" {
				assert.Assert(t, e.Err == nil, e.Err)
				return
			}
			assert.Assert(t, e.Err != nil)
			assert.Equal(t, e.Err.Code, dispatch.Blocked)
			assert.Assert(t, !e.Err.Recoverable)
			assert.Equal(t, string(e.Err.Details.(json.RawMessage)), `{"keyword":`+
				quoted(tc.keyword)+`,"path":"/code"}`)
		})
	}
}

// Every string in the arguments is checked, including names of members.
func TestBlocklistChecksAllStrings(t *testing.T) {
	fx := newEvalFixture(dispatch.Options{})
	for _, tc := range []struct{ arguments, path, name string }{
		{`{"code":"sudo ls"}`, "/code", "code "},
		{` {"a":{"b":[1,null,true,["ls",{"c/d~":"sudo"}]]}} `, "/a/b/3/1/c~1d~0",
			`a.b[3][1]["c/d~"] `},
		{`{"sudo":1}`, "", ""},
		{`{"a":{"sudo":1}}`, "/a", "a "},
		{`{"code":"\u0073udo"}`, "/code", "code "},
		{`{"c\u006fde":"sudo"}`, "/code", "code "},
		{`{"code":"ls","code":"sudo"}`, "/code", "code "},
		{`{"` + strings.Repeat(`a":{"`, 500) + `a":"sudo"` + strings.Repeat("}", 501),
			strings.Repeat("/a", 501), strings.Repeat("a.", 50) + "… "},
	} {
		e := fx.call(t.Context(), tc.arguments)
		assert.Assert(t, e.Err != nil, tc.arguments)
		assert.Equal(t, e.Err.Code, dispatch.Blocked)
		assert.Equal(t, string(e.Err.Details.(json.RawMessage)), `{"keyword":"sudo","path":`+
			quoted(tc.path)+`}`)
		assert.Equal(t, e.Err.Message, tc.name+
			`must not contain "sudo", which the blocklist forbids`)
	}
	assert.Assert(t, fx.call(t.Context(), `{"a":[1,true,null,{"b":"ls"}]}`).Err == nil)
	assert.Assert(t, fx.call(t.Context(), ``).Err == nil)
}

// A gate decides whether an operation exists; the blocklist checks the arguments of every call.
func TestGateDoesNotReplaceTheBlocklist(t *testing.T) {
	for _, gate := range []dispatch.Gate{"", dispatch.GateEval} {
		c := dispatch.NewCatalog(dispatch.GateEval)
		dispatch.Add(c, dispatch.Spec{Name: "a.eval", Summary: "S.", Type: dispatch.Eval,
			Gate: gate}, func(context.Context, query) (nothing, error) {
			t.Error("it ran")
			return nothing{}, nil
		})
		d := dispatch.Options{}.New(c)
		for arguments, want := range map[string]dispatch.Code{`{"city":"sudo"}`: dispatch.Blocked,
			`{"city":1}`: dispatch.InvalidInput} {
			e := d.Dispatch(t.Context(),
				&dispatch.Call{Operation: "a.eval", Arguments: json.RawMessage(arguments),
					Confirmed: true})
			assert.Equal(t, e.Err.Code, want)
		}
	}
}

func TestBlocklistIsForEvalOnly(t *testing.T) {
	for _, kind := range []dispatch.Type{dispatch.Read, dispatch.Write, dispatch.Lifecycle,
		dispatch.Wait, dispatch.Destructive} {
		fx := newFixture(dispatch.Options{})
		register(fx, echo, func(s *dispatch.Spec) { s.Type = kind })
		e := fx.Dispatch(t.Context(),
			&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(`{"city":"sudo"}`),
				Confirmed: true})
		assert.Assert(t, e.Err == nil, "%s: %v", kind, e.Err)
	}
}

func TestCustomBlocklist(t *testing.T) {
	for _, tc := range []struct {
		list    []string
		blocked []string
		allowed []string
	}{
		{nil, []string{"sudo"}, []string{"ls"}},
		{[]string{}, nil, []string{"sudo", "rm -rf /"}},
		{[]string{"", " ", `"`}, nil, []string{"", "sudo", `"`}},
		{[]string{" Drop  \"Table\" "}, []string{"drop table x", "DROP\nTABLE"},
			[]string{"sudo", "drop tables", "drop the table"}},
		{[]string{"*"}, []string{"", "x"}, nil},
		{[]string{"process.*", "eval"}, []string{"process.exit()", "a.process.x", "eval(x)"},
			[]string{"process", "evaluate"}},
	} {
		fx := newEvalFixture(dispatch.Options{Blocklist: tc.list})
		for _, text := range tc.blocked {
			e := fx.call(t.Context(), `{"code":`+quoted(text)+`}`)
			assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.Blocked,
				"%q: %q", tc.list, text)
		}
		for _, text := range tc.allowed {
			e := fx.call(t.Context(), `{"code":`+quoted(text)+`}`)
			assert.Assert(t, e.Err == nil, "%q: %q: %v", tc.list, text, e.Err)
		}
	}
}

func TestBlocklistIsCopied(t *testing.T) {
	list := []string{"alpha"}
	fx := newEvalFixture(dispatch.Options{Blocklist: list})
	list[0] = "beta"
	assert.Assert(t, fx.call(t.Context(), `{"code":"alpha"}`).Err != nil)
	clear(dispatch.DefaultBlocklist())
	assert.Assert(t, slices.Contains(dispatch.DefaultBlocklist(), "sudo"))
}

// Each word of the default list is found, so none is written in a way that never matches.
func TestDefaultBlocklistFindsItsWords(t *testing.T) {
	fx := newEvalFixture(dispatch.Options{})
	for _, word := range dispatch.DefaultBlocklist() {
		e := fx.call(t.Context(), `{"code":`+quoted("x "+word+" y")+`}`)
		assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.Blocked, word)
	}
	for _, harmless := range []string{
		"ls -la", "go test ./... | grep FAIL", "rm -rf ./build", "rm -rf /tmp/x", "echo shut down",
		"git reset --hard", "pseudo-code", "cat file > /dev/null",
		"for i in 1 2 3; do echo $i; done", "document.querySelector('#reboot-button')", "su_do()",
	} {
		e := fx.call(t.Context(), `{"code":`+quoted(harmless)+`}`)
		if harmless == "document.querySelector('#reboot-button')" {
			// '-' ends a word, so this harmless text is blocked
			assert.Assert(t, e.Err != nil)
			continue
		}
		assert.Assert(t, e.Err == nil, "%s: %v", harmless, e.Err)
	}
}

// A keyword between spaces is found whatever surrounds it, and nothing panics.
func FuzzBlocklist(f *testing.F) {
	f.Add("echo ", " ls", "sudo")
	f.Add("\\", "\n", "rm -rf /")
	f.Add("a\\\\\n", "\"'", "of=/dev/sd*")
	f.Add("'", "\u00a0", "*")
	f.Add("\xff", "\\", "\\\n \"")
	f.Fuzz(func(t *testing.T, before, after, word string) {
		own := newEvalFixture(dispatch.Options{Blocklist: []string{word}})
		for _, text := range []string{before, after, word, before + word + after} {
			e := own.call(t.Context(), `{"code":`+quoted(text)+`}`)
			assert.Assert(t, e.Err == nil || e.Err.Code == dispatch.Blocked)
		}
		if rest := strings.Trim(word, " \t\n\v\f\r\"'\\"); rest != "" && utf8.ValidString(word) {
			e := own.call(t.Context(), `{`+quoted(before+" "+word+" "+after)+`:1}`)
			assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.Blocked,
				"%q in %q %q", word, before, after)
		}
		list := dispatch.DefaultBlocklist()
		keyword := list[len(word)%len(list)]
		e := newEvalFixture(dispatch.Options{}).call(t.Context(),
			fmt.Sprintf(`{"a":[{"b":%s}]}`, quoted(before+" "+keyword+" "+after)))
		assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.Blocked,
			"%q in %q %q", keyword, before, after)
	})
}
