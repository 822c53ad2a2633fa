package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolsearch"
)

const (
	resamples = 2000 // of the bootstrap
	orders    = 24   // of a catalogue, for the tie band
	// maxDiluted is how many questions of a corpus are asked in larger catalogues, and in each of
	// the orders.
	maxDiluted = 300
	synthetic  = 10_000 // tools
	maxMisses  = 12     // that are listed of a corpus
)

// retrievalSuite measures how many of the tools that answer questions are among the first hits. The
// rows are recall@5, with a bootstrap interval; the other numbers of a row are beside it.
func retrievalSuite(options) ([]measure, error) {
	all, err := corpora(os.Getenv(corporaVariable))
	if err != nil {
		return nil, err
	}
	var rows []measure
	for _, c := range all {
		for _, r := range rankers {
			rows = append(rows, measureRecall(c, r))
		}
		printMisses(c)
	}
	rows = append(rows, measureNoMatch(all)...)
	rows = append(rows, measureDilution(all)...)
	rows = append(rows, measureTime(all)...)
	return append(rows, measureTokens(all)...), nil
}

// judge returns how well a ranker answers questions.
func judge(tools []toolsearch.Tool, questions []toolsearch.Question,
	r ranker) []toolsearch.Outcome {
	find := r.index(tools)
	outcomes := make([]toolsearch.Outcome, len(questions))
	for i, q := range questions {
		var hits [][]string
		for _, found := range find(q.Query) {
			hits = append(hits, []string{tools[found].Name, tools[found].Public})
		}
		outcomes[i] = q.Judge(hits)
	}
	return outcomes
}

func recall5(outcomes []toolsearch.Outcome) float64 {
	return toolsearch.Summarize(outcomes).Recall[2]
}

func measureRecall(c corpus, r ranker) measure {
	outcomes := judge(c.tools, c.questions, r)
	s := toolsearch.Summarize(outcomes)
	low, high := bootstrap(outcomes, recall5)
	what := fmt.Sprintf("%s, %d tools, %d questions: recall@5", c.name, len(c.tools),
		len(c.questions))
	if c.tuned {
		what += " (tuned)"
	}
	extra := fmt.Sprintf("95 %%: %.3f–%.3f; ties %s; @1 %.3f, @3 %.3f, @10 %.3f, MRR %.3f, "+
		"all@5 %.3f, silent %.3f", low, high, tieBand(c, r), s.Recall[0], s.Recall[1], s.Recall[3],
		s.MRR, s.All5, s.Silent)
	if s.Others > 0 {
		extra += fmt.Sprintf(", no match %.3f of %d", s.NoMatch, s.Others)
	}
	return measure{what: what, program: r.program, value: s.Recall[2], rate: true, extra: extra}
}

// bootstrap returns the interval that has 95 % of the values of a statistic of resampled outcomes.
func bootstrap(outcomes []toolsearch.Outcome,
	statistic func([]toolsearch.Outcome) float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, uint64(len(outcomes))))
	values, sample := make([]float64, resamples), make([]toolsearch.Outcome, len(outcomes))
	for i := range values {
		for j := range sample {
			sample[j] = outcomes[random.IntN(len(outcomes))]
		}
		values[i] = statistic(sample)
	}
	slices.Sort(values)
	return values[resamples/40], values[resamples-1-resamples/40]
}

// tieBand returns the least and the greatest recall@5 with the tools in different orders.
func tieBand(c corpus, r ranker) string {
	random := rand.New(rand.NewPCG(2, 3))
	tools, questions := slices.Clone(c.tools), c.questions[:min(len(c.questions), maxDiluted)]
	low, high := 1.0, 0.0
	for range orders {
		random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		value := recall5(judge(tools, questions, r))
		low, high = min(low, value), max(high, value)
	}
	return fmt.Sprintf("±%.3f", (high-low)/2)
}

func printMisses(c corpus) {
	x := toolsearch.New(c.tools)
	printed, missed := 0, 0
	for _, q := range c.questions {
		r := x.Search(q.Query, toolsearch.Options{Limit: 5})
		var hits [][]string
		var found []string
		for _, h := range r.Hits {
			hits = append(hits, []string{c.tools[h.Tool].Name, c.tools[h.Tool].Public})
			found = append(found, c.tools[h.Tool].Name)
		}
		if len(q.Tools) == 0 || q.Judge(hits).Recall[2] > .999 {
			continue
		}
		if missed++; printed < maxMisses {
			printed++
			fmt.Printf("miss: %s: %.120q: want %s; found %s; unknown %.80q\n", c.name, q.Query,
				strings.Join(q.Tools, ", "), strings.Join(found, ", "), r.Unknown)
		}
	}
	fmt.Printf("misses: %s: %d of %d questions lack a tool among the first five\n", c.name, missed,
		len(c.questions))
}

// elsewhere are tools of MetaTool that do what no tool of mcpproxy's corpus does.
var elsewhere = strings.Fields("JobTool TripTool CourseTool RestaurantBookingTool ProductSearch " +
	"Discount HouseRentingTool HousePurchasingTool GiftTool MusicTool BookTool DietTool PodcastTool " +
	"StrologyTool EarthquakeTool NASATool MemeTool CharityTool LawTool ResumeTool TripAdviceTool " +
	"GameTool Chess Sudoku TicTacToe Checkers recipe_retrieval Planfit IndoorPlants Broadway " +
	"Dr_Thoths_Tarot diceroller CribbageScorer talkfpl magi_codex")

// measureNoMatch asks the tools of mcpproxy, which are about files, Git, databases and notes, what
// only tools of MetaTool do, by questions that no weight was chosen with.
func measureNoMatch(all []corpus) (rows []measure) {
	files := slices.IndexFunc(all, func(c corpus) bool { return c.name == "mcpproxy" })
	other := slices.IndexFunc(all, func(c corpus) bool { return c.name == "MetaTool, other half" })
	if other < 0 {
		return nil
	}
	var questions []toolsearch.Question
	for _, q := range all[other].questions {
		if slices.Contains(elsewhere, q.Tools[0]) {
			questions = append(questions, toolsearch.Question{Query: q.Query})
		}
	}
	for _, r := range rankers {
		outcomes := judge(all[files].tools, questions, r)
		accuracy := func(o []toolsearch.Outcome) float64 { return toolsearch.Summarize(o).NoMatch }
		low, high := bootstrap(outcomes, accuracy)
		rows = append(rows, measure{
			what: fmt.Sprintf("%d questions that no tool of mcpproxy answers: without a hit",
				len(questions)),
			program: r.program, value: accuracy(outcomes), rate: true,
			extra: fmt.Sprintf("95 %%: %.3f–%.3f", low, high)})
	}
	return rows
}

// measureDilution asks the questions of each corpus in the tools of all, and among synthetic tools.
func measureDilution(all []corpus) (rows []measure) {
	together := catalogue(all)
	for _, c := range all {
		if strings.HasSuffix(c.name, "tuned half") {
			continue
		}
		questions := c.questions[:min(len(c.questions), maxDiluted)]
		for _, tools := range [][]toolsearch.Tool{together, invented(together, c.tools)} {
			for _, r := range rankers {
				outcomes := judge(tools, questions, r)
				s := toolsearch.Summarize(outcomes)
				rows = append(rows, measure{
					what:    fmt.Sprintf("%s among %d tools: recall@5", c.name, len(tools)),
					program: r.program, value: s.Recall[2], rate: true,
					extra: fmt.Sprintf("MRR %.3f, silent %.3f", s.MRR, s.Silent)})
			}
		}
	}
	return rows
}

// catalogue returns the tools of all corpora.
func catalogue(all []corpus) (tools []toolsearch.Tool) {
	seen := map[string]bool{}
	for _, c := range all {
		for _, t := range c.tools {
			if !seen[t.Public] {
				seen[t.Public] = true
				tools = append(tools, t)
			}
		}
	}
	return tools
}

// invented returns tools and as many that are invented from the words of vocabulary that they are
// 10,000.
func invented(vocabulary, tools []toolsearch.Tool) []toolsearch.Tool {
	random := rand.New(rand.NewPCG(4, 5))
	var words []string
	for _, t := range vocabulary {
		words = append(words, strings.Fields(member(t, "description"))...)
	}
	text := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = words[random.IntN(len(words))]
		}
		return strings.Join(all, " ")
	}
	result := slices.Clone(tools)
	for i := len(tools); i < synthetic; i++ {
		name := vocabulary[random.IntN(len(vocabulary))].Name
		other := vocabulary[random.IntN(len(vocabulary))].Name
		first, _, _ := strings.Cut(name, "_")
		name = fmt.Sprintf("%s_%s_%d", first, other[strings.LastIndexByte(other, '_')+1:], i)
		definition, err := json.Marshal(map[string]any{"name": name,
			"description": text(5 + random.IntN(40)), "inputSchema": map[string]any{
				"properties": map[string]any{text(1): map[string]any{"description": text(6)}}}})
		if err != nil {
			panic(err) // strings and maps of them
		}
		server := fmt.Sprintf("invented%d", i/30)
		result = append(result, toolsearch.Tool{Server: server, Name: name,
			Public: server + "__" + name, Definition: definition})
	}
	return result
}

// measureTime measures the time of a query and of an index with 6,000 tools.
func measureTime(all []corpus) (rows []measure) {
	together := catalogue(all)
	tools := invented(together, together)
	tools = tools[:min(len(tools), 6000)]
	questions := all[len(all)-1].questions
	for _, r := range rankers {
		begin := time.Now()
		find := r.index(tools)
		built := time.Since(begin)
		// Of each query, the least time counts: what it takes if the machine does nothing else.
		const rounds = 10
		var sum time.Duration
		asked := questions[:min(50, len(questions))]
		for _, q := range asked {
			least := time.Duration(math.MaxInt64)
			for range rounds {
				begin := time.Now()
				find(q.Query)
				least = min(least, time.Since(begin))
			}
			sum += least / time.Duration(len(asked))
		}
		rows = append(rows, measure{what: fmt.Sprintf("a query of %d tools", len(tools)),
			program: r.program, value: float64(sum.Nanoseconds()) / 1e3, unit: "µs",
			extra: fmt.Sprintf("the index took %d ms", built.Milliseconds())})
	}
	return rows
}

// measureTokens estimates, by four bytes each, the tokens of all definitions, and of the answers of
// a search: all of five definitions, or one and the signatures of four.
func measureTokens(all []corpus) (rows []measure) {
	const tools = 650 // tokens of find_tool and the three that call
	for _, c := range all {
		if c.tuned {
			continue
		}
		list := 0
		for _, t := range c.tools {
			list += len(t.Definition)
		}
		x := toolsearch.New(c.tools)
		full, compact := 0, 0
		for _, q := range c.questions {
			for i, h := range x.Search(q.Query, toolsearch.Options{}).Hits {
				t := c.tools[h.Tool]
				full += len(t.Definition)
				if i == 0 {
					compact += len(t.Definition)
				} else {
					compact += len(shortForm(t))
				}
			}
		}
		n := 4 * len(c.questions)
		value := tools + compact/n
		rows = append(rows, measure{what: c.name + ": tokens shown for the first search",
			program: "stdwire", value: float64(value), unit: "tokens",
			extra: fmt.Sprintf("the list has %d; an answer %d, with five full definitions %d; "+
				"the list is cheaper after %d searches", list/4, compact/n, full/n,
				max(0, (list/4-tools)*n/max(compact, 1)))})
	}
	return rows
}

// shortForm returns a tool in the short form of an answer, about.
func shortForm(t toolsearch.Tool) string {
	var parameters []string
	schema := jsonscan.Member(t.Definition, "inputSchema")
	for name := range jsonscan.Members(jsonscan.Member(schema, "properties")) {
		parameters = append(parameters, string(name))
	}
	description := member(t, "description")
	return t.Public + "(" + strings.Join(parameters, ", ") + "): " +
		description[:min(len(description), 200)]
}
