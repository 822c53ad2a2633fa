package toolsearch

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// corpus returns the tools and questions of a folder of testdata.
func corpus(t *testing.T, name string) ([]Tool, []Question) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name, "tools.jsonl"))
	assert.NilError(t, err)
	var tools []Tool
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := bytes.Clone(lines.Bytes())
		server, _ := jsonscan.Text(jsonscan.Member(line, "server"))
		definition := jsonscan.Member(line, "tool")
		name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
		tools = append(tools, Tool{Server: server, Name: name, Public: server + "__" + name,
			Definition: definition})
	}
	file, err := os.Open(filepath.Join("testdata", name, "questions.jsonl"))
	assert.NilError(t, err)
	defer file.Close()
	questions, err := ReadQuestions(file)
	assert.NilError(t, err)
	return tools, questions
}

// The floors are a little below what is measured. The weights were chosen with the questions of
// ironclaw, not with those of mcpproxy.
func TestRecall(t *testing.T) {
	for _, tt := range []struct {
		corpus                         string
		recall1, recall5, all5, silent float64
	}{
		{"ironclaw", .82, .96, .92, 0},
		{"mcpproxy", .45, .78, .70, .07},
	} {
		tools, questions := corpus(t, tt.corpus)
		x := New(tools)
		var outcomes []Outcome
		for _, q := range questions {
			var hits [][]string
			found := x.Search(q.Query, Options{Limit: 10})
			for _, h := range found.Hits {
				hits = append(hits, []string{tools[h.Tool].Public})
			}
			o := q.Judge(hits)
			outcomes = append(outcomes, o)
			if o.Answerable && o.Recall[2] < 1 {
				t.Logf("%s: %.2f of %q, want %v, found %v, unknown %q", tt.corpus, o.Recall[2],
					q.Query, q.Tools, hits[:min(len(hits), 5)], found.Unknown)
			}
		}
		s := Summarize(outcomes)
		t.Logf("%s: %+v", tt.corpus, s)
		assert.Assert(t, s.Recall[0] >= tt.recall1 && s.Recall[2] >= tt.recall5)
		assert.Assert(t, s.All5 >= tt.all5 && s.Silent <= tt.silent)
		assert.Assert(t, s.Others == 0 || s.NoMatch == 1)
	}
}

func TestReadQuestions(t *testing.T) {
	got, err := ReadQuestions(strings.NewReader(`
{"query":"a","tools":["x","y"],"class":"c","more":1}

{"tools":[],"query":"b"}`))
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []Question{{"a", []string{"x", "y"}, "c"}, {Query: "b"}})
	for text, want := range map[string]string{
		"{}":                               `line 1: "query" is not a string`,
		"\n{\"query\":\"a\"}":              `line 2: "tools" is not an array`,
		`{"query":"a","tools":[1]}`:        `line 1: "tools" has an element that is not a string`,
		`{"query":"a"`:                     `line 1: `,
		strings.Repeat("x", maxQuestion*2): `line 1: it is longer than 1 MiB`,
	} {
		_, err := ReadQuestions(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
}

func TestJudge(t *testing.T) {
	q := Question{Tools: []string{"a", "s__b"}}
	o := q.Judge([][]string{{"x"}, {"y", "a"}, {"z"}, {"z"}, {"z"}, {"b", "s__b"}})
	assert.DeepEqual(t, o, Outcome{Answerable: true, Places: []int{2, 6},
		Recall: [4]float64{0, .5, .5, 1}, Reciprocal: .5})
	none := Question{}
	assert.DeepEqual(t, Summarize([]Outcome{o, q.Judge(nil), none.Judge(nil),
		none.Judge([][]string{{"x"}})}), Summary{Answerable: 2, Others: 2,
		Recall: [4]float64{0, .25, .25, .5}, MRR: .25, Silent: .5, NoMatch: .5})
	assert.DeepEqual(t, Summarize(nil), Summary{})
}

func TestIndexIsSmall(t *testing.T) {
	x := New(benchmarkTools(600))
	bytes := 9 * len(x.posted)
	for term := range x.terms {
		bytes += len(term) + 40
	}
	assert.Assert(t, bytes < 600*1000, "%d bytes", bytes)
}
