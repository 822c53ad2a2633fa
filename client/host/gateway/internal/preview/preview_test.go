package preview_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/gateway/internal/preview"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/growth"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

var source = preview.Source{ID: "ID", Tool: "read_result", URI: "kept://ID",
	Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

// noted is what structured content says about a preview.
type noted struct {
	Characters, Limit int
	Cuts              []preview.Cut
	Kept              bool
	ReadOn            struct {
		Tool      string
		Arguments struct {
			ID, Pointer string
			Offset      int
		}
	}
}

func quote(text string) string { return string(jsonscan.AppendString(nil, text)) }

func textResult(text string) []byte {
	return []byte(`{"x":[1.50],"content":[{"type":"text","text":` + quote(text) +
		`,"x":1}],"resultType":"complete"}`)
}

func texts(t *testing.T, result []byte) (all []string) {
	t.Helper()
	assert.NilError(t, jsonscan.Valid(result))
	for block := range jsonscan.Elements(jsonscan.Member(result, "content")) {
		if text, ok := jsonscan.Text(jsonscan.Member(block, "text")); ok {
			all = append(all, text)
		}
	}
	return all
}

func number(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d äöü\n", i)
	}
	return b.String()
}

// A text is shortened to whole lines; what is not known stays.
func TestText(t *testing.T) {
	whole := number(1000)
	short, largest, err := preview.Of(textResult(whole), 5000, nil, source)
	assert.NilError(t, err)
	all := texts(t, short)
	assert.Equal(t, len(all), 2)
	assert.Assert(t, strings.HasPrefix(whole, all[0]) && strings.HasSuffix(all[0], "\n"))
	shown := strings.Count(all[0], "\n")
	assert.Assert(t, utf8.RuneCountInString(all[0]+all[1]) <= 5000)
	assert.Assert(t, shown > 200, shown)
	assert.Equal(t, all[1], fmt.Sprintf("[Shortened: the result has %d characters, and 5000 are allowed. "+
		"Shown are the first %d of 1000 lines of /content/0/text. "+
		"The whole is kept until 2026-01-02T03:04:05Z. To read on, call read_result with "+
		`{"id":"ID","pointer":"/content/0/text","offset":%d}.]`, utf8.RuneCountInString(whole),
		shown, shown))
	assert.Equal(t, largest.Pointer, "/content/0/text")
	assert.Assert(t, strings.HasPrefix(string(short), `{"x":[1.50],"content":[{"type":"text",`))
	assert.Assert(t, strings.Contains(string(short), `"x":1}`))
	assert.Assert(t, strings.Contains(string(short), `"type":"resource_link"`))

	short, _, err = preview.Of(textResult(whole), 5000, nil, preview.Source{})
	assert.NilError(t, err)
	assert.Assert(t, strings.HasSuffix(texts(t, short)[1],
		"The rest is not kept: to see it, ask for less at a time.]"))
}

// Both forms of a result show the same elements and the same note.
func TestStructured(t *testing.T) {
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"n\"%d"}`, i, i))
	}
	structured := `{"total":2000,"rows":[` + strings.Join(rows, ", ") + `],"more":[1,2]}`
	result := []byte(`{"content":[{"type":"text","text":` + quote(structured) +
		`}],"structuredContent":` + structured + `}`)
	short, _, err := preview.Of(result, 4000, nil, source)
	assert.NilError(t, err)
	assert.Assert(t, preview.Size(short) <= 4000, preview.Size(short))
	all := texts(t, short)
	own := jsonscan.Member(short, "structuredContent")
	assert.Equal(t, all[0], string(own))
	var got struct {
		Total int
		Rows  []struct{ ID int }
		More  []int
		Note  noted `json:"stdwire/preview"`
	}
	assert.NilError(t, json.Unmarshal(own, &got))
	assert.Equal(t, got.Total, 2000)
	assert.DeepEqual(t, got.More, []int{1, 2})
	assert.Assert(t, len(got.Rows) > 50)
	for i, row := range got.Rows {
		assert.Equal(t, row.ID, i)
	}
	assert.Equal(t, got.Note.Cuts[0].Pointer, "/structuredContent/rows")
	assert.Equal(t, got.Note.Cuts[0].Unit, preview.Elements)
	assert.Equal(t, got.Note.Cuts[0].Shown, len(got.Rows))
	assert.Equal(t, got.Note.Cuts[0].Total, 2000)
	assert.Equal(t, got.Note.ReadOn.Arguments.Offset, len(got.Rows))
	assert.Assert(t, strings.Contains(all[1], fmt.Sprintf(
		"the first %d of 2000 elements of /structuredContent/rows", len(got.Rows))))
}

// A content that is not a copy of the structured content is shortened by itself.
func TestBothForms(t *testing.T) {
	structured := `{"s":` + quote(number(900)) + `}`
	result := []byte(`{"content":[{"type":"image","data":"` + strings.Repeat("A", 9000) +
		`","mimeType":"x/y"},{"type":"text","text":` + quote(number(500)) +
		`},{"type":"resource","resource":{"uri":"a:b","text":` + quote(number(800)) +
		`}}],"structuredContent":` + structured + `}`)
	short, _, err := preview.Of(result, 9000, nil, source)
	assert.NilError(t, err)
	assert.Assert(t, preview.Size(short) <= 9000)
	assert.Assert(t, strings.Contains(string(short), strings.Repeat("A", 9000)))
	var got struct {
		Structured struct {
			Note noted `json:"stdwire/preview"`
		} `json:"structuredContent"`
	}
	assert.NilError(t, json.Unmarshal(short, &got))
	var pointers []string
	for _, c := range got.Structured.Note.Cuts {
		pointers = append(pointers, c.Pointer)
	}
	slices.Sort(pointers)
	assert.DeepEqual(t, pointers, []string{"/content/2/resource/text", "/structuredContent/s"})
	assert.Equal(t, texts(t, short)[0], number(500))
}

// What cannot be shortened by units is shown as far as possible.
func TestExtremes(t *testing.T) {
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	blocks := strings.Repeat(`{"type":"text","text":"abcdefgh"},`, 5000)
	for name, test := range map[string]struct {
		result  string
		pointer string
		unit    preview.Unit
	}{
		"one line": {string(textResult(strings.Repeat("x", 100_000))), "/content/0/text",
			preview.Lines},
		"JSON in text": {string(textResult(`{"a":[` + strings.Repeat("[1,2],", 9999) + `0]}`)),
			"/content/0/text/a", preview.Elements},
		"a large first element": {`{"structuredContent":{"a":[{"b":[` +
			strings.Repeat("1,", 9999) + `1]},2]}}`, "/structuredContent/a/0/b", preview.Elements},
		"a map": {`{"structuredContent":{` + strings.Join(many, ",") + `}}`, "/structuredContent",
			preview.Members},
		"blocks": {`{"content":[` + strings.TrimSuffix(blocks, ",") + `]}`, "/content",
			preview.Elements},
		"an array": {`{"structuredContent":[` + strings.Repeat("[],", 9999) + `[]]}`,
			"/structuredContent", preview.Elements},
		"deep": {`{"structuredContent":{"a":` + strings.Repeat("[", 500) +
			strings.Repeat("7,", 9999) + `7` + strings.Repeat("]", 500) + `}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			short, largest, err := preview.Of([]byte(test.result), 3000, nil, source)
			assert.NilError(t, err)
			assert.NilError(t, jsonscan.Valid(short))
			assert.Assert(t, preview.Size(short) <= 3000, "%d", preview.Size(short))
			if test.pointer != "" {
				assert.Equal(t, largest.Pointer, test.pointer)
				assert.Equal(t, largest.Unit, test.unit)
			}
			view, err := preview.NewView([]byte(test.result), largest.Pointer)
			assert.NilError(t, err)
			assert.Equal(t, view.Unit, largest.Unit)
			assert.Equal(t, view.Total, largest.Total)
		})
	}
	_, _, err := preview.Of([]byte(`{"structuredContent":`+strings.Repeat("1", 9000)+`}`), 3000,
		nil, source)
	assert.Equal(t, err, preview.ErrNothing)
}

// A preview matches the outputSchema of its tool with the member that describes it, or there is
// none.
func TestSchema(t *testing.T) {
	rows := `{"rows":[` + strings.Repeat("1,", 9999) + `1]}`
	result := []byte(`{"content":[],"structuredContent":` + rows + `}`)
	closed := []byte(`{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"],"additionalProperties":false}`)
	_, _, err := preview.Of(result, 3000, closed, source)
	assert.Equal(t, err, preview.ErrSchema)
	opened := preview.WithMember(closed)
	short, _, err := preview.Of(result, 3000, opened, source)
	assert.NilError(t, err)
	compiled, err := schema.Compile(opened)
	assert.NilError(t, err)
	assert.NilError(t, compiled.Validate(jsonscan.Member(short, "structuredContent")))
	assert.NilError(t, compiled.Validate([]byte(rows)))
	_, _, err = preview.Of(result, 3000, []byte(
		`{"type":"object","properties":{"rows":{"type":"array","minItems":10000}}}`), source)
	assert.Equal(t, err, preview.ErrSchema)
	assert.Equal(t, string(preview.WithMember(opened)), string(opened))
}

func TestApplies(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"isError":false}`: true,
		`{"resultType":"complete"}`: true, `{"isError":true}`: false,
		`{"resultType":"input_required"}`: false, `{"resultType":"task"}`: false} {
		assert.Equal(t, preview.Applies([]byte(text)), want, text)
	}
}

// All ranges of a value together are the value.
func TestView(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	long := strings.Repeat("ä", 2500) + "\n"
	for name, test := range map[string]struct {
		result, pointer, want string
		unit                  preview.Unit
	}{
		"lines": {string(textResult(number(5000) + long + "end")), "/content/0/text",
			number(5000) + long + "end", preview.Lines},
		"elements": {`{"a": [ ` + strings.Repeat(`{"b" : 1} , `, 4000) + ` 2 ] }`, "/a",
			strings.Repeat(`{"b" : 1},`, 4000) + `2`, preview.Elements},
		"members": {`{"a/b~":{"x" : 1 , "y":[2]}}`, "/a~1b~0", `"x" : 1,"y":[2]`, preview.Members},
		"JSON in text": {string(textResult(`[{"a":[1,2,3]}]`)), "/content/0/text/0/a", "1,2,3",
			preview.Elements},
		"a number": {`{"a":1.50}`, "/a", "1.50", preview.Whole},
		"nothing":  {`{"a":""}`, "/a", "", preview.Lines},
		"empty":    {`{"a":[ ]}`, "/a", "", preview.Elements},
	} {
		t.Run(name, func(t *testing.T) {
			view, err := preview.NewView([]byte(test.result), test.pointer)
			assert.NilError(t, err)
			assert.Equal(t, view.Unit, test.unit)
			for _, chars := range []int{3000, 10_000, 1 << 30} {
				var all []string
				units := 0
				for offset, more := 0, true; more; {
					r, err := view.Read(offset, 1+random.IntN(3000), chars)
					assert.NilError(t, err)
					assert.Assert(t, utf8.RuneCount(r.Text) <= chars)
					text := string(r.Text)
					if test.unit == preview.Elements || test.unit == preview.Members {
						assert.NilError(t, jsonscan.Valid(r.Text))
						text = text[1 : len(text)-1]
					}
					all = append(all, text)
					units += r.Count
					if more = r.Next != nil; more {
						offset = *r.Next
					}
				}
				assert.Equal(t, units, view.Total)
				separator := ","
				if test.unit == preview.Lines {
					separator = ""
				}
				assert.Equal(t, strings.Join(all, separator), test.want)
			}
			_, err = view.Read(view.Total+1, 1, 1000)
			assert.ErrorContains(t, err, "offset must be from 0 to")
			_, err = view.Read(-1, 1, 1000)
			assert.ErrorContains(t, err, "offset must be from 0 to")
		})
	}
	for _, pointer := range []string{"a", "/b", "/a/2", "/a/00", "/a/-", "/a/0/x"} {
		_, err := preview.NewView([]byte(`{"a":[1,2]}`), pointer)
		assert.ErrorIs(t, err, preview.ErrPointer)
	}
}

// A unit that is too large to be read at once is read in part, and the cuts say where to read on.
func TestLargeUnit(t *testing.T) {
	view, err := preview.NewView([]byte(`{"a":[0,{"b":[`+strings.Repeat("1,", 9999)+`1]}]}`), "/a")
	assert.NilError(t, err)
	r, err := view.Read(1, 10, 1000)
	assert.NilError(t, err)
	assert.NilError(t, jsonscan.Valid(r.Text))
	assert.Assert(t, len(r.Text) <= 1000)
	assert.Equal(t, r.Count, 1)
	assert.Equal(t, r.Cuts[0].Pointer, "/a/1/b")
	assert.Equal(t, r.Cuts[0].Total, 10000)
	view, err = preview.NewView([]byte(`{"a":{"x":1,"c/d":"`+strings.Repeat("é", 9999)+`"}}`), "/a")
	assert.NilError(t, err)
	r, err = view.Read(1, 10, 2000)
	assert.NilError(t, err)
	assert.NilError(t, jsonscan.Valid(r.Text))
	assert.Equal(t, r.Cuts[0].Pointer, "/a/c~1d")
}

// No result, however odd, makes a preview that is not JSON, too large or untrue.
func FuzzOf(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a\nb\nc"}],"structuredContent":{"a":[1,2,3]}}`), 10)
	f.Add([]byte(`{"content":[{"resource":{"text":"[1,2,[3,\"\\u0000\"]]"}},7,{}]}`), 3)
	f.Add([]byte(`{"structuredContent":{"a":"{\"b\":\"[1,\\\"2\\\"]\"}","":{}}}`), 1)
	f.Fuzz(func(t *testing.T, result []byte, limit int) {
		if jsonscan.Valid(result) != nil || len(result) == 0 || result[0] != '{' {
			return
		}
		limit = min(max(limit, 0), 10_000)
		short, _, err := preview.Of(result, limit, nil, source)
		if err != nil {
			return
		}
		assert.NilError(t, jsonscan.Valid(short))
		assert.Assert(t, preview.Size(short) <= max(limit, preview.Size(result))+4000)
		var got struct {
			Structured struct {
				Note noted `json:"stdwire/preview"`
			} `json:"structuredContent"`
		}
		_ = json.Unmarshal(short, &got)
		for _, c := range got.Structured.Note.Cuts {
			view, err := preview.NewView(result, c.Pointer)
			assert.NilError(t, err)
			assert.Equal(t, view.Unit, c.Unit)
			assert.Equal(t, view.Total, c.Total)
			assert.Assert(t, c.Shown < c.Total)
		}
	})
}

// JSON that is a text in JSON, many times over, and lists of very many parts take no more time than
// their sizes.
func TestHostileResults(t *testing.T) {
	quotes := 32 << 10
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings,
		debug.BuildSetting{Key: "-race", Value: "true"}) {
		quotes = 2 << 10 // the race detector takes ten times as long
	}
	nested := `"` + strings.Repeat(`\"`, quotes) + `"`
	for range 7 {
		nested = quote(`{"a":` + nested + `}`)
	}
	zeros := strings.Repeat("0,", 1_000_000) + "0"
	for name, result := range map[string]string{
		"nested":   `{"structuredContent":{"a":` + nested + `}}`,
		"in text":  `{"content":[{"type":"text","text":` + nested + `}]}`,
		"blocks":   `{"content":[` + zeros + `],"structuredContent":"` + strings.Repeat("x", 2_000_000) + `"}`,
		"elements": `{"structuredContent":[` + zeros + `]}`,
		"members":  `{"structuredContent":{` + strings.Repeat(`"":0,`, 500_000) + `"":0}}`,
	} {
		t.Run(name, func(t *testing.T) {
			growth.Within(t, 10*time.Second, func() {
				_, _, _ = preview.Of([]byte(result), 1_000_000, nil, source) // there may be none
			})
		})
	}
}
