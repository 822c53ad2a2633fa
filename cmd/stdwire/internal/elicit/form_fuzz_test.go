package elicit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Whatever a server asks and whatever is typed: what is sent fits the form, no secret is asked for,
// and nothing on the screen acts on it.
func FuzzForm(f *testing.F) {
	f.Add("Who?", `{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"enum":["u","v"]},"c":{"type":"array","items":{"anyOf":[{"const":"p","title":"P"}]}}},"required":["a"]}`,
		"\n2\n1\ny\n")
	f.Add("\x1b[2J",
		`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"o":{"type":"boolean"}},"minProperties":1}`,
		".skip\n\n7\nn\ne\n\n\nyes\n")
	f.Add("", `{"type":"object","properties":{"password":{"type":"string"}}}`, "x\ny\n")
	f.Add("0", `{"minProperties":1}`, "Y\n")
	f.Add("", `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"enumNames":[1],"enum":[{},null]}}}`,
		"1\n1\ny\n")
	f.Fuzz(func(t *testing.T, message, form, typed string) {
		if jsonscan.Valid([]byte(form)) != nil {
			return
		}
		compiled, err := schema.Options{AssertFormats: true}.Compile([]byte(form))
		if err != nil {
			return // the client refuses it
		}
		var b bytes.Buffer
		c := &term.Console{W: &b, Display: term.Display{Terminal: true}}
		a := NewAsker("server", c, term.NewLineReader(strings.NewReader(typed), c, func() {}))
		got, err := a.elicit(t.Context(),
			mcp.ElicitParams{Mode: mcp.ElicitForm, Message: message, RequestedSchema: []byte(form)})
		if err != nil {
			t.Fatal(err)
		}
		if got.Action == mcp.ElicitAccept {
			filled, err := compiled.FillDefaults(got.Content)
			if err == nil {
				err = compiled.Validate(filled)
			}
			if err != nil {
				t.Fatalf("%s: %v", got.Content, err)
			}
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\u202e'
		}) {
			t.Fatalf("shown: %q", b.String())
		}
	})
}
