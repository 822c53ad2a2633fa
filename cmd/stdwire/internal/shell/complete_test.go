package shell

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/shellwords"
)

func TestCompletionOfArguments(t *testing.T) {
	schema := form.NewSchema(
		[]byte(`{"type":"object","properties":{"color":{"enum":["red","green","light blue",5]},"bold":{"type":["boolean","null"]},"count":{"type":"integer"},
		"at":{"type":"object","properties":{"x":{"type":"integer"},"deep":{"properties":{"on":{"type":"boolean"}}}}},"tags":{"type":"array","items":{"enum":["a","b"]}},
		"odd name":{"const":"it's"},"self":{"$ref":"#"}},"anyOf":[{"properties":{"other":{}}},{"required":["color"]}]}`))
	for typed, want := range map[string]string{
		"":                  `color=|bold=|count=|at.|tags=|"odd name"=|self.|other=`,
		"co":                "color=|count=",
		"color=red ":        `bold=|count=|at.|tags=|"odd name"=|self.|other=`,
		"color:=1 bold=x c": "count=",
		"tags=a t":          "tags=",
		"color=":            `color=red |color=green |color="light blue" |color=5 `,
		"color=li":          `color="light blue" `,
		"color='light b":    `color="light blue" `,
		"color:=":           `color:='"red"' |color:='"green"' |color:='"light blue"' |color:=5 `,
		"bold=t":            "bold=true ",
		"count=":            "",
		"at.":               "at.x=|at.deep.",
		"at.deep.":          "at.deep.on=",
		"at.deep.on=":       "at.deep.on=true |at.deep.on=false ",
		"tags=":             "tags=a |tags=b ",
		"odd":               `"odd name"=`,
		"'odd name'=":       `"odd name"="it's" `,
		"self.co":           "self.color=|self.count=",
		"x=":                "",
		"unknown":           "",
	} {
		words, from, ok := typedWords("paint " + typed)
		assert.Assert(t, ok, typed)
		assert.Assert(t, from <= len("paint "+typed))
		var got []string
		for _, c := range arguments.Complete(schema, words[1:]) {
			got = append(got, c.String())
		}
		assert.Equal(t, strings.Join(got, "|"), want, typed)
	}
}

func TestTypedWords(t *testing.T) {
	for _, c := range []struct {
		text, words string
		from        int
		ok          bool
	}{
		{"", "", 0, true},
		{"ab", "ab", 0, true},
		{"ab ", "ab|", 3, true},
		{"ab 'c d", "ab|c d", 3, true},
		{"ab c=\"d e\"", "ab|c=d e", 3, true},
		{"ab {\"c\":", "", 0, false},
		{"ab # c", "", 0, false},
		{`ab c\`, "", 0, false},
	} {
		words, from, ok := typedWords(c.text)
		assert.Equal(t, ok, c.ok, c.text)
		assert.Equal(t, strings.Join(words, "|"), c.words, c.text)
		assert.Equal(t, from, c.from, c.text)
	}
}

// A line that ends with a candidate parses to the value of the candidate, and a candidate that is
// not typed to its end is completed from its start. The start is within any text.
func FuzzShellLine(f *testing.F) {
	f.Add("paint {\"a\":1} b='c d", "it's")
	f.Add("a \\", "{x}")
	f.Add("# a", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		if words, from, ok := typedWords(text); ok {
			assert.Assert(t, len(words) > 0 && from >= 0 && from <= len(text))
		}
		_, _ = parseInputLine(text)
		head := "tool " + shellwords.Quote(value) + " "
		line, err := parseInputLine(head + arguments.Candidate{Name: "a", Text: value}.String())
		assert.NilError(t, err)
		assert.DeepEqual(t, line.words, []string{value, "a=" + value})
		words, from, ok := typedWords(head +
			strings.TrimSuffix(arguments.Candidate{Name: "a", Text: value}.String(), " "))
		assert.Assert(t, ok)
		assert.DeepEqual(t, words, []string{"tool", value, "a=" + value})
		assert.Equal(t, from, len(head))
	})
}
