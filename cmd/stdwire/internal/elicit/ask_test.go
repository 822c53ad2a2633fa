package elicit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An outcome is how a question to a user ended, and what the user saw.
type outcome struct {
	*mcp.ElicitResult
	seen   string
	opened []string // pages
}

// elicitWith asks a user who types lines.
func elicitWith(t *testing.T, params mcp.ElicitParams, lines ...string) (got outcome) {
	t.Helper()
	var b bytes.Buffer
	c := &term.Console{W: &b, Display: term.Display{Terminal: true}}
	typed := ""
	if lines != nil {
		typed = strings.Join(lines, "\n") + "\n"
	}
	a := NewAsker("the server", c, term.NewLineReader(strings.NewReader(typed), c, func() {}))
	a.browse = func(url string) error {
		got.opened = append(got.opened, url)
		if strings.Contains(url, "unopenable") {
			return errors.New("no browser")
		}
		return nil
	}
	var err error
	got.ElicitResult, err = a.elicit(t.Context(), params)
	assert.NilError(t, err)
	got.seen = b.String()
	return got
}

func formOf(properties, required string) mcp.ElicitParams {
	return mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "Because.",
		RequestedSchema: []byte(`{"type":"object","properties":{` + properties + `},"required":[` +
			required + `]}`)}
}

func TestForm(t *testing.T) {
	got := elicitWith(t,
		formOf(`"name":{"type":"string","title":"Full name","description":"As on\nthe \u001b[1mbill","minLength":2},"n":{"type":"integer","default":7},"ok":{"type":"boolean"}`,
			`"name"`),
		"A", "Ann", "", "maybe", "Y", "y")
	assert.Equal(t, got.Action, mcp.ElicitAccept)
	assert.Equal(t, string(got.Content), `{"name":"Ann","n":7,"ok":true}`)
	assert.Equal(t, got.seen, `the server asks:
  Because.
An empty line accepts the value in [brackets] or omits an optional field; .skip
omits it in any case. "" is an empty string.
.decline declines the form; .cancel or Ctrl-D cancels it.

Full name: As on the bill (string, minLength 2, required)
> Please answer again: must have at least 2 characters, has 1.
> 
n (integer, optional)
[7] > 
ok (yes or no, optional)
> Please answer again: the answer is y or n.
> 
The answer:
  Full name: Ann
  n: 7
  ok: y
Send this to the server? [y]es, [n]o, [e]dit: `)
}

func TestFieldsOfForms(t *testing.T) {
	for _, tt := range []struct{ property, line, want string }{
		// want is the value, or why there is none
		{`{"type":"string"}`, "012", `"012"`},
		{`{"type":"string"}`, " padded ", `" padded "`},
		{`{"type":"string"}`, `say "hi"`, `"say \"hi\""`},
		{`{"type":"string"}`, `""`, `""`},
		{`{"type":"string","minLength":1}`, `""`, "must have at least 1"},
		{`{"type":"string"}`, "a\xff", "the text is not UTF-8"},
		{`{"type":"string"}`, "", "the field is required"},
		{`{"type":"string"}`, "   ", "the field is required"},
		{`{"type":"string"}`, ".skip", "the field is required"},
		{`{"type":"string","format":"email"}`, "ann", "email"},
		{`{"type":"string","format":"email"}`, "ann@example.com", `"ann@example.com"`},
		{`{"type":"string","format":"date"}`, "2026-13-01", "date"},
		{`{"type":"string","format":"date-time"}`, "2026-01-01T00:00:00Z",
			`"2026-01-01T00:00:00Z"`},
		{`{"type":"string","format":"uri"}`, "not a uri", "URI"},
		{`{"type":"string","default":"abc"}`, "", `"abc"`},
		{`{"type":"string","default":"abc"}`, ".skip", `"abc"`}, // it would be sent anyway
		{`{"type":"string","default":"abc","maxLength":2}`, "", "must have at most 2"},
		{`{"type":"integer"}`, "7", "7"},
		{`{"type":"integer"}`, " 7 ", "7"},
		{`{"type":"integer"}`, "7.5", "must be an integer"},
		{`{"type":"integer"}`, "seven", "must be an integer"},
		{`{"type":"integer","minimum":18}`, "17", "18"},
		{`{"type":"number","maximum":1}`, "0.5", "0.5"},
		{`{"type":"number","maximum":1}`, "1.5", "1"},
		{`{"type":"boolean"}`, "y", "true"},
		{`{"type":"boolean"}`, "No", "false"},
		{`{"type":"boolean"}`, "1", "the answer is y or n"},
		{`{"type":"boolean","default":false}`, "", "false"},
		{`{"type":["boolean","integer"]}`, "1", "1"},
		{`{"type":"string","enum":["red","green"]}`, "2", `"green"`},
		{`{"type":"string","enum":["red","green"]}`, "red", `"red"`},
		{`{"type":"string","enum":["red","green"]}`, "RED", `"red"`},
		{`{"type":"string","enum":["red","green"]}`, "3", "the choices are 1 to 2, not 3"},
		{`{"type":"string","enum":["red","green"]}`, "0", "the choices are 1 to 2, not 0"},
		{`{"type":"string","enum":["red","green"]}`, "blue", `"blue" is not one of the choices`},
		{`{"type":"string","enum":["red","green"],"default":"green"}`, "", `"green"`},
		{`{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`, "green", `"g"`},
		{`{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}`,
			"Green", `"#0f0"`},
		{`{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}`,
			"1", `"#f00"`},
		{`{"enum":[2,1]}`, "1", "1"}, // the value, not the number of a choice
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, "1,3", `["a","c"]`},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, "c, a", `["c","a"]`},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, `""`, "[]"},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]}}`, "1 3",
			`"1 3" is not one of the choices`},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]},"maxItems":1}`, "1,2",
			"1"},
		{`{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":1}`, `""`, "1"},
		{`{"type":"array","items":{"anyOf":[{"const":"x","title":"The X"},{"const":"y","title":"The Y"}]},"default":["y"]}`,
			"", `["y"]`},
		{`{"type":"array","items":{"type":"integer"}}`, "[1,2]", "[1,2]"}, // not allowed in a form
		{`{"type":"object"}`, `{"a":1}`, `{"a":1}`},
		{`true`, "x", `"x"`},
	} {
		got := elicitWith(t, formOf(`"f":`+tt.property, `"f"`), tt.line, "y")
		if got.Action == mcp.ElicitAccept {
			assert.Equal(t, string(got.Content), `{"f":`+tt.want+`}`, "%s %q", tt.property, tt.line)
			continue
		}
		_, why, _ := strings.Cut(got.seen, "Please answer again: ")
		why, _, _ = strings.Cut(why, "\n")
		assert.Assert(t, cmp.Contains(why, tt.want), "%s %q: %s", tt.property, tt.line, got.seen)
	}
}

func TestOptionalFields(t *testing.T) {
	got := elicitWith(t,
		formOf(`"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"array","items":{"enum":["x","y"]}}`,
			``), "", ".skip", "", "y")
	assert.Equal(t, string(got.Content), `{}`)
	assert.Assert(t, cmp.Contains(got.seen, "  a: left out\n  b: left out\n  c: left out\n"))
}

func TestFormEdited(t *testing.T) {
	got := elicitWith(t,
		formOf(`"a":{"type":"string"},"b":{"enum":["x","y"]},"c":{"type":"boolean"}`, `"a"`), "1",
		"2", "n", "e", "", "x", ".skip", "what", "y")
	assert.Equal(t, string(got.Content), `{"a":"1","b":"x"}`)
	assert.Assert(t, cmp.Contains(got.seen, "[1] > "))
	assert.Assert(t, cmp.Contains(got.seen, "[y] > "))
	assert.Assert(t, cmp.Contains(got.seen, "[n] > "))
	assert.Assert(t, cmp.Contains(got.seen, "Please answer yes or no or edit.\n"))
}

// An error that concerns several fields is found before anything is sent.
func TestAnswersThatDoNotFitTogether(t *testing.T) {
	params := formOf(`"a":{"type":"string"},"b":{"$ref":"#/$defs/n"}`, ``)
	params.RequestedSchema = []byte(
		`{"type":"object","minProperties":1,"properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer","maximum":9}}}`)
	got := elicitWith(t, params, "", "", "", "10", "9", "y")
	assert.Equal(t, got.Action, mcp.ElicitAccept)
	assert.Equal(t, string(got.Content), `{"b":9}`)
	assert.Equal(t, strings.Count(got.seen, "The answers do not fit"), 1, got.seen)
	assert.Equal(t, strings.Count(got.seen, "Please answer again"), 1, got.seen)
}

// A form without fields whose schema still requires some is declined: the user is not asked,
// because no answer would be valid.
func TestFormThatNoAnswerFits(t *testing.T) {
	got := elicitWith(t,
		mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "Because.",
			RequestedSchema: []byte(`{"type":"object","minProperties":1}`)}, "y")
	assert.Equal(t, got.Action, mcp.ElicitDecline)
	assert.Assert(t, strings.Contains(got.seen, "The form requires an answer but has no fields") &&
		!strings.Contains(got.seen, "Do you agree?"), got.seen)
}

func TestDeclineAndCancel(t *testing.T) {
	form := formOf(`"a":{"type":"string"},"b":{"type":"string","default":"x"}`, `"a"`)
	for _, tt := range []struct {
		lines []string
		want  mcp.ElicitAction
	}{
		{nil, mcp.ElicitCancel}, // Ctrl-D
		{[]string{"x"}, mcp.ElicitCancel},
		{[]string{"x", ""}, mcp.ElicitCancel},
		{[]string{".cancel"}, mcp.ElicitCancel},
		{[]string{"x", " .cancel "}, mcp.ElicitCancel},
		{[]string{".decline"}, mcp.ElicitDecline},
		{[]string{"x", "y", ".decline"}, mcp.ElicitDecline},
		{[]string{"x", "y", "n"}, mcp.ElicitDecline},
		{[]string{"x", "y", "", "yes"}, mcp.ElicitAccept},
	} {
		got := elicitWith(t, form, tt.lines...)
		assert.Equal(t, got.Action, tt.want, tt.lines)
		assert.Equal(t, got.Content == nil, tt.want != mcp.ElicitAccept)
	}
	for answer, want := range map[string]mcp.ElicitAction{"y": mcp.ElicitAccept,
		"n": mcp.ElicitDecline, "": mcp.ElicitCancel, ".decline": mcp.ElicitDecline} {
		got := elicitWith(t, formOf("", ""), answer) // a form without fields
		assert.Equal(t, got.Action, want, "%q", answer)
	}
}

func TestSecretsAreNotAsked(t *testing.T) {
	for _, property := range []string{
		`"password":{"type":"string"}`, `"x":{"type":"string","title":"API key"}`,
		`"x":{"type":"string","format":"password"}`, `"pin":{"type":"integer"}`,
		`"x":{"type":"string","description":"Paste your access token"}`, `"token":{}`,
	} {
		got := elicitWith(t, formOf(`"name":{"type":"string"},`+property, ``), "Ann", "hunter2", "y")
		assert.Equal(t, got.Action, mcp.ElicitDecline, property)
		assert.Assert(t, !strings.Contains(got.seen, "> "), "nothing is asked: %s", got.seen)
		assert.Assert(t, cmp.Contains(got.seen, "Servers must not ask for secrets in a form"))
	}
	for _, property := range []string{`"token":{"type":"boolean"}`, `"secret":{"enum":["a","b"]}`,
		`"max_tokens":{"type":"integer"}`} {
		got := elicitWith(t, formOf(property, ``), "", "y")
		assert.Equal(t, got.Action, mcp.ElicitAccept, property)
	}
}

// A text of a server looks different from those of this program, and cannot control the terminal.
func TestTextsOfServers(t *testing.T) {
	params := formOf(`"a\n\u001b[2J":{"type":"string","enum":["x\ny\u202e"]}`, ``)
	params.Message = "Hello\r\nstdwire: trust me\x1b]0;x\a\u202e\n" + strings.Repeat("long", 5000)
	got := elicitWith(t, params, "1", "y")
	assert.Equal(t, string(got.Content), `{"a\n\u001b[2J":"x\ny\u202e"}`, "byte for byte")
	assert.Assert(t,
		strings.HasPrefix(got.seen,
			"the server asks:\n  Hello\n  stdwire: trust me\\u202e\n  longlong"), got.seen)
	assert.Assert(t, !strings.ContainsAny(got.seen, "\x1b\a\r\u202e"), "%q", got.seen)
	assert.Assert(t, len(got.seen) < 6000)
}

// Long texts of a server are cut.
func TestLongForms(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	choices := strings.TrimSuffix(strings.Repeat(`"`+long[:1000]+`",`, 300), ",")
	got := elicitWith(t,
		formOf(`"a":{"type":"string","title":"`+long+`","description":"`+long+`","default":"`+long+
			`","pattern":"x","oneOf":[true,true]},"b":{"enum":[`+choices+`]}`, ``), ".decline")
	assert.Assert(t, len(got.seen) < 4000, len(got.seen))
	got = elicitWith(t,
		formOf(`"a":{"type":"string","default":"`+long+`"},"b":{"enum":[`+choices+`]}`, ``), "", "",
		"y")
	assert.Equal(t, len(got.Content), len(`{"a":""}`)+len(long))
	assert.Assert(t, cmp.Contains(got.seen, " … and 100 more\n"))
	assert.Assert(t, len(got.seen) < 60_000, len(got.seen))
}

func TestWebPages(t *testing.T) {
	const notASCII = "the host has letters that may look like others, and is shown encoded"
	for _, tt := range []struct {
		url, host, opened string
		warnings          []string
	}{
		{url: "https://example.com/connect?a=b#c", host: "example.com"},
		{url: "http://localhost:8080/x", host: "localhost:8080"},
		{url: "http://127.0.0.1/x", host: "127.0.0.1"},
		{url: "HTTPS://EXAMPLE.COM", host: "EXAMPLE.COM", opened: "https://EXAMPLE.COM"},
		{url: "http://example.com/", host: "example.com",
			warnings: []string{"what you type there is not encrypted on its way (http)"}},
		{url: "https://xn--pple-43d.com/", host: "xn--pple-43d.com", warnings: []string{notASCII}},
		{url: "https://p\u0430ypal.com/", host: `p\u0430ypal.com`,
			opened: "https://p%D0%B0ypal.com/", warnings: []string{notASCII}},
		{url: "https://google.com@evil.example/", host: "evil.example",
			warnings: []string{"the text before the @ is not the host; the host is evil.example"}},
		{url: "https://example.com/Z\u00fcrich", host: "example.com",
			opened: "https://example.com/Z%C3%BCrich"},
	} {
		got := elicitWith(t,
			mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Log in, please.", URL: tt.url}, "maybe",
			"y")
		assert.Equal(t, got.Action, mcp.ElicitAccept, tt.url)
		assert.Assert(t, got.Content == nil)
		if tt.opened == "" {
			tt.opened = tt.url
		}
		assert.DeepEqual(t, got.opened, []string{tt.opened})
		want := "the server wants you to visit a web page:\n  Log in, please.\n  host  " + tt.host +
			"\n  URL   " + Ascii(tt.url) + "\n"
		for _, warning := range tt.warnings {
			want += "Warning: " + warning + ".\n"
		}
		assert.Equal(t, got.seen, want+
			"Open it in your browser? [y/N] Please answer yes or no.\nOpen it in your browser? [y/N] ")
	}
}

func TestWebPagesThatAreNotOpened(t *testing.T) {
	page := mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Log in.", URL: "https://example.com/"}
	for answer, want := range map[string]mcp.ElicitAction{"": mcp.ElicitDecline,
		"n": mcp.ElicitDecline, "No": mcp.ElicitDecline, ".decline": mcp.ElicitDecline,
		".cancel": mcp.ElicitCancel} {
		got := elicitWith(t, page, answer)
		assert.Equal(t, got.Action, want, "%q", answer)
		assert.Assert(t, got.opened == nil, answer)
	}
	assert.Equal(t, elicitWith(t, page).Action, mcp.ElicitCancel, "Ctrl-D")

	for _, url := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "ftp://example.com/", "--help", "", "https://",
		"https:example.com", "//example.com", "https://a.com\\@b.com/", "https://a.com/\x1b[2J",
		"https://a.com/ b", "https://[::1", "https://a.com/" + strings.Repeat("a", 8<<10),
		"vbscript:x", "ms-settings://x", "https://:80/",
	} {
		page.URL = url
		got := elicitWith(t, page, "y")
		assert.Equal(t, got.Action, mcp.ElicitDecline, url)
		assert.Assert(t, got.opened == nil, url)
		assert.Assert(t, cmp.Contains(got.seen, "The page is not opened: "))
		assert.Assert(t, !strings.Contains(got.seen, "\x1b"))
	}

	page.URL = "https://example.com/unopenable"
	got := elicitWith(t, page, "y")
	assert.Equal(t, got.Action, mcp.ElicitAccept, "the user agreed, and can open it by hand")
	assert.Assert(t,
		cmp.Contains(got.seen,
			"It could not be opened: no browser. Please open it yourself: https://example.com/unopenable\n"))
}

// One question is asked at a time, and each ends with its context.
func TestQuestionsTakeTurns(t *testing.T) {
	in, keyboard := io.Pipe()
	defer in.Close()
	var b bytes.Buffer
	c := &term.Console{W: &b, Display: term.Display{Terminal: true}}
	prompts := make(chan string)
	a := NewAsker("s", c, promptRecorder{term.NewLineReader(in, c, func() {}), prompts})
	var o client.Options
	a.Answer(&o)
	assert.DeepEqual(t, o.ElicitModes, []string{"form", "url"})

	results := make(chan mcp.ElicitAction)
	ask := func(ctx context.Context) {
		got, err := o.OnElicit(ctx, formOf("", ""))
		assert.Check(t, err)
		results <- got.Action
	}
	first, cancelFirst := context.WithCancel(t.Context())
	go ask(first)
	<-prompts
	second, cancelSecond := context.WithCancel(t.Context())
	go ask(second)
	cancelSecond() // while it waits for its turn
	assert.Equal(t, <-results, mcp.ElicitCancel)
	cancelFirst()
	assert.Equal(t, <-results, mcp.ElicitCancel)

	go ask(t.Context())
	<-prompts
	_, err := io.WriteString(keyboard, "y\n") // discarded: the first question began to read this line
	assert.NilError(t, err)
	_, err = io.WriteString(keyboard, "y\n")
	assert.NilError(t, err)
	assert.Equal(t, <-results, mcp.ElicitAccept)
}

// A promptRecorder sends each of its prompts to a channel.
type promptRecorder struct {
	term.Prompter
	prompts chan string
}

func (p promptRecorder) Line(ctx context.Context, prompt string) (string, error) {
	p.prompts <- prompt
	return p.Prompter.Line(ctx, prompt)
}
