package toolsearch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// tool returns a tool with parameters without descriptions.
func tool(server, name, description string, parameters ...string) Tool {
	properties := map[string]any{}
	for _, p := range parameters {
		properties[p] = map[string]any{"type": "string"}
	}
	definition, err := json.Marshal(map[string]any{"name": name, "description": description,
		"inputSchema": map[string]any{"type": "object", "properties": properties}})
	if err != nil {
		panic(err)
	}
	return Tool{Server: server, Name: name, Public: server + "__" + name, Definition: definition}
}

var catalogue = []Tool{
	tool("github", "createIssue", "Open a bug report in a repository.", "title", "body"),
	tool("github", "list_pull_requests", "List the pull requests of a repository.", "owner", "repo"),
	tool("github", "search", "Search GitHub for code.", "q"),
	tool("files", "read_file", "Read the complete contents of a file.", "path"),
	tool("files", "list_directory", "List what is in a directory.", "path"),
	tool("files", "sha256", "Compute the SHA-256 digest of a file.", "path"),
	tool("weather", "getForecast", "Weather forecast for a city.", "latitude", "longitude"),
	tool("s3", "get_object", "Download an object from a bucket.", "bucket", "key"),
	tool("cn", "bing_search", "使用必应搜索指定的关键词，并返回搜索结果列表", "query"),
	tool("mail", "send", "Send an e-mail message.", "to", "subject"),
}

func names(tools []Tool, r Result) []string {
	all := []string{}
	for _, h := range r.Hits {
		all = append(all, tools[h.Tool].Public)
	}
	return all
}

func TestSearch(t *testing.T) {
	x := New(catalogue)
	for _, tt := range []struct {
		query, first string
		unknown      []string
		abstained    bool
	}{
		{query: "open an issue", first: "github__createIssue"},
		{query: "creating issues", first: "github__createIssue"},
		{query: "CREATE ISSUE", first: "github__createIssue"},
		{query: "createIssue", first: "github__createIssue"},
		{query: "github.create-issue", first: "github__createIssue"},
		{query: "pull request listing", first: "github__list_pull_requests"},
		{query: "read_file", first: "files__read_file"},
		{query: "files__read_file", first: "files__read_file"},
		{query: "What is in this folder?", first: "files__list_directory"},
		{query: "sha256 checksum", first: "files__sha256", unknown: []string{"checksum"}},
		{query: "SHA of a file", first: "files__sha256"},
		{query: "will it rain? get the weather", first: "weather__getForecast",
			unknown: []string{"rain"}},
		{query: "longitude", first: "weather__getForecast"},
		{query: "an S3 object", first: "s3__get_object"},
		{query: "搜索", first: "cn__bing_search"},
		{query: "关键词 搜索", first: "cn__bing_search"},
		{query: "send mail", first: "mail__send"},
		{query: "quantum banana telescope", unknown: []string{"quantum", "banana", "telescope"}},
		{query: "bioluminescent submarine recipe for a city",
			unknown: []string{"bioluminescent", "submarine", "recipe"}, abstained: true},
		{query: "what can you do with this?"},
		{query: ""},
		{query: "\xff\x00 ,,, __"},
	} {
		r := x.Search(tt.query, Options{})
		first := ""
		if len(r.Hits) > 0 {
			first = catalogue[r.Hits[0].Tool].Public
		}
		assert.Equal(t, first, tt.first, "%q: %v", tt.query, names(catalogue, r))
		assert.DeepEqual(t, r.Unknown, tt.unknown)
		assert.Equal(t, r.Abstained, tt.abstained, "%q", tt.query)
		assert.Assert(t, len(r.Hits) <= 5 && len(r.Hits) <= r.Found)
	}
}

// A name finds its tool before tools with more words of the query.
func TestExactNameIsFirst(t *testing.T) {
	tools := []Tool{
		tool("web", "search_search", "Search the web: search, search engine.", "search"),
		tool("mail", "search", "x"),
		tool("code", "search", "y"),
		{Server: "long", Name: "search_for_a_very_long_name", Public: "long__search_a1b2c3"},
	}
	x := New(tools)
	r := x.Search("search", Options{})
	assert.DeepEqual(t, names(tools, r), []string{"code__search", "mail__search",
		"web__search_search", "long__search_a1b2c3"})
	assert.Assert(t, r.Hits[1].Exact && !r.Hits[2].Exact)
	r = x.Search("long__search_a1b2c3", Options{Limit: 1})
	assert.Equal(t, r.Hits[0].Tool, 3)
	assert.Assert(t, r.Hits[0].Exact)
}

// random returns tools whose words are drawn from a small vocabulary.
func random(r *rand.Rand, n int) []Tool {
	word := func() string { return fmt.Sprintf("w%c%c", 'a'+r.IntN(6), 'a'+r.IntN(9)) }
	text := func(n int) string {
		var all []string
		for range n {
			all = append(all, word())
		}
		return strings.Join(all, " ")
	}
	var tools []Tool
	for i := range n {
		tools = append(tools, tool("s"+fmt.Sprint(i%5), fmt.Sprintf("%s_%s_%d", word(), word(), i),
			text(r.IntN(20)), word(), word()))
	}
	return tools
}

// What a caller finds does not depend on tools that are hidden from it.
func TestHiddenToolsHaveNoInfluence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		tools := random(r, 40)
		visible := make([]bool, len(tools))
		var allowed []Tool
		var number []int
		for i := range tools {
			if visible[i] = r.IntN(3) > 0; visible[i] {
				allowed, number = append(allowed, tools[i]), append(number, i)
			}
		}
		x, only := New(tools), New(allowed)
		allow := func(tool int) bool { return visible[tool] }
		for range 10 {
			hidden := tools[r.IntN(len(tools))]
			query := fmt.Sprintf("w%c%c w%c%c missing %s", 'a'+r.IntN(6), 'a'+r.IntN(9),
				'a'+r.IntN(6), 'a'+r.IntN(9), hidden.Name)
			got := x.Search(query, Options{Limit: 8, Allow: allow})
			want := only.Search(query, Options{Limit: 8})
			for i := range want.Hits {
				want.Hits[i].Tool = number[want.Hits[i].Tool]
			}
			assert.DeepEqual(t, got, want)
		}
	}
}

// The order of a catalogue has no influence, in ties neither.
func TestOrderOfToolsHasNoInfluence(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tools := random(r, 60)
	for i := range 20 {
		tools = append(tools, tool(fmt.Sprintf("t%d", i), "same", "The same words."))
	}
	want := map[string][]string{}
	for range 24 {
		r.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		x := New(tools)
		for _, query := range []string{"same", "words", "waa wbb", "wcc", "wfa waa wci"} {
			got := names(tools, x.Search(query, Options{Limit: 7}))
			if want[query] == nil {
				want[query] = got
			}
			assert.DeepEqual(t, got, want[query])
		}
	}
}

// What a server gains by stuffing: nothing by repetition, at most three times a single mention by
// all fields together, and nothing for one word by listing many.
func TestStuffing(t *testing.T) {
	honest := tool("b", "forecast", "Gives the weather of a city for some days to come.")
	many := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo " +
		"lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray")
	stuffed := map[string]Tool{
		"repeated in the description": tool("a", "forecast",
			"Gives the weather of a city for some days to come."+strings.Repeat(" weather", 1000)),
		"many words": tool("a", "forecast", "Gives the weather of a city for some days to come. "+
			strings.Join(many, " ")),
		"in every field": {Server: "weather", Name: "weather", Definition: []byte(
			`{"title":"Weather","description":"Weather weather.","inputSchema":{"properties":{` +
				`"weather":{"description":"weather"},"weathers":{"title":"the weather"}}}}`)},
	}
	score := func(tool Tool) float64 {
		return New([]Tool{tool, honest, {Name: "other"}}).
			Explain(0, "the weather", Options{}).Score
	}
	fair := score(honest)
	for how, tool := range stuffed {
		gain := score(tool) / fair
		t.Logf("%s: %.2f times the score of an honest tool", how, gain)
		switch how {
		case "in every field":
			assert.Assert(t, gain <= 3)
		case "many words":
			assert.Assert(t, gain < 1)
		default:
			assert.Assert(t, gain <= 1)
		}
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var properties strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&properties, `"p%d":{"description":%q},`, i, strings.Repeat("y ", 50))
	}
	deep := strings.Repeat(`{"properties":{"a":`, 2000) + "{}" + strings.Repeat("}}", 2000)
	tools := []Tool{
		tool("a", long, long+" "+strings.Repeat("word ", 1<<18)+"beyond"),
		{Server: "b", Name: "n", Definition: []byte(
			`{"inputSchema":{"properties":{` + properties.String() + `"beyond":{}}}}`)},
		{Server: "c", Name: "deep", Definition: []byte(`{"inputSchema":` + deep + `}`)},
		{Server: "d", Name: "invalid", Definition: []byte(`{"description":"beyond`)},
		{Server: "e", Name: "wrong", Definition: []byte(
			`{"title":1,"description":[],"inputSchema":{"properties":[],"items":null,"anyOf":{}}}`)},
		{},
	}
	x := New(tools)
	r := x.Search("beyond", Options{})
	assert.DeepEqual(t, r.Unknown, []string{"beyond"})
	r = x.Search("invalid", Options{})
	assert.Equal(t, r.Hits[0].Tool, 3)
	assert.Assert(t, len(x.posted) < 1000)

	var query strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&query, "q%dq ", i)
	}
	r = x.Search(query.String(), Options{})
	assert.Equal(t, len(r.Unknown), maxWords)
	all := New([]Tool{tool("all", "all", query.String())})
	assert.Equal(t, len(all.Explain(0, query.String(), Options{}).Words), maxWords)
	assert.Equal(t, len(x.Search(strings.Repeat("界", 1<<20), Options{}).Unknown), 1)
}

func TestExplain(t *testing.T) {
	x := New(catalogue)
	query := "show the folder on a yacht"
	r := x.Search(query, Options{})
	e := x.Explain(r.Hits[0].Tool, query, Options{})
	assert.Equal(t, e.Rank, 1)
	assert.Equal(t, e.Hit, r.Hits[0])
	var sum float64
	for _, w := range e.Words {
		sum += w.Score
	}
	assert.Equal(t, sum, e.Score)
	i := slices.IndexFunc(e.Words, func(w WordScore) bool { return w.Word == "folder" })
	assert.Equal(t, e.Words[i].Term, stem("directory"))
	assert.DeepEqual(t, e.Words[i].Fields, []string{"name", "description"})
	i = slices.IndexFunc(e.Words, func(w WordScore) bool { return w.Word == "yacht" })
	assert.Assert(t, !e.Words[i].Known)

	hidden := x.Explain(r.Hits[0].Tool, query, Options{Allow: func(int) bool { return false }})
	assert.Equal(t, hidden.Rank, 0)
	assert.Equal(t, hidden.Score, 0.0)
	assert.Assert(t, !slices.ContainsFunc(hidden.Words, func(w WordScore) bool { return w.Known }))
}

func FuzzSearch(f *testing.F) {
	f.Add("getHTTPResponse2 S3Object", `{"description":"搜索 e\u0301tude"}`)
	f.Add("Ünïcode 한국어 ไทย", `{"inputSchema":{"properties":{"a":{"enum":["x",1]}}}}`)
	f.Fuzz(func(t *testing.T, query, definition string) {
		x := New([]Tool{{Server: "s", Name: query, Definition: []byte(definition)}, {Name: "n"}})
		a := x.Search(query, Options{})
		assert.DeepEqual(t, a, x.Search(query, Options{Allow: func(int) bool { return true }}))
		x.Explain(0, query, Options{})
		for word := range words(definition) {
			assert.Assert(t, !slices.Contains(indexTerms(word), ""))
		}
	})
}

func benchmarkTools(n int) []Tool {
	r := rand.New(rand.NewPCG(5, 6))
	vocabulary := make([]string, 6000)
	for i := range vocabulary {
		for range 3 {
			vocabulary[i] += []string{"ba", "do", "ke", "li", "mu", "na", "pe", "ri", "so", "tu"}[r.IntN(10)]
		}
	}
	// Words are as unequally frequent as those of a language.
	word := func() string {
		return vocabulary[int(float64(len(vocabulary))*r.Float64()*r.Float64()*r.Float64())]
	}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(word() + " ")
		}
		return b.String()
	}
	tools := make([]Tool, n)
	for i := range tools {
		properties := ""
		for range 4 {
			properties += fmt.Sprintf(`,%q:{"type":"string","description":%q}`, word(), text(8))
		}
		tools[i] = Tool{Server: fmt.Sprint("server", i/30), Name: word() + "_" + word(),
			Definition: fmt.Appendf(nil, `{"description":%q,"inputSchema":{"properties":{%s}}}`,
				text(40), properties[1:])}
	}
	return tools
}

func BenchmarkNew6000(b *testing.B) {
	tools := benchmarkTools(6000)
	b.ReportAllocs()
	for b.Loop() {
		New(tools)
	}
}

func BenchmarkSearch6000(b *testing.B) {
	tools := benchmarkTools(6000)
	x := New(tools)
	b.ReportMetric(float64(len(x.posted)), "postings")
	for _, bb := range []struct {
		name  string
		allow func(int) bool
	}{{"all", nil}, {"allowed", func(i int) bool { return i%3 > 0 }}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Search("bababa the dodo kekeke to lilidoke and munape for babado soriso batutu",
					Options{Allow: bb.allow})
			}
		})
	}
}
