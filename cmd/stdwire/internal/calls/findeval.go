package calls

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/internal/userfile"
)

const maxQueries = 16 << 20 // bytes of a file of queries

// readQueries reads a file with a query on each line.
func readQueries(path string) ([]toolsearch.Question, error) {
	text, err := userfile.Text(userfile.ReadArgument(path, maxQueries))
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	all, err := toolsearch.ReadQuestions(bytes.NewReader(text))
	if err != nil {
		return nil, command.Usagef("%s: %v", path, err).WithHint(
			`a line looks like this: {"query": "read a file", "tools": ["read_file"]}`)
	}
	if all == nil {
		return nil, command.Usagef("%s has no queries", path)
	}
	return all, nil
}

// An evaluation says how well the tools of queries are found.
type evaluation struct {
	Queries int        `json:"queries"` // that have tools
	Tools   int        `json:"tools"`   // that were searched
	Recall  []recallAt `json:"recall"`
	AllAt5  float64    `json:"allAt5"` // the share of the queries whose tools are all among the first 5
	MRR     float64    `json:"mrr"`
	NoMatch int        `json:"noMatch"` // queries that have no tools
	Nothing int        `json:"nothing"` // those of them that find nothing
	Misses  []miss     `json:"misses"`
}

// A recallAt is the mean share of the tools of a query that are among the first.
type recallAt struct {
	First int     `json:"first"`
	Share float64 `json:"share"`
}

// A miss is a query with a tool that is not among the first ten, or one that should find nothing
// and does.
type miss struct {
	Query string   `json:"query"`
	Tools []missed `json:"tools"`
	Found []string `json:"found"` // the first three
}

type missed struct {
	Tool  string `json:"tool"`
	Place int    `json:"place"`   // 0: it is not found
	Known bool   `json:"isKnown"` // whether a server has it
}

// evaluate measures how well the tools of queries are found, and prints it.
func (o *findOptions) evaluate(std *term.Streams, index *toolsearch.Index, tools []searchedTool,
	queries []toolsearch.Question) error {
	e := measure(index, tools, queries)
	if o.output == "json" {
		return output.PrintValue(std, e)
	}
	rows := [][]string{{"queries", fmt.Sprintf("%d over %s", e.Queries,
		command.Plural(e.Tools, "tool"))}}
	if e.Queries > 0 {
		for _, r := range e.Recall {
			rows = append(rows, []string{fmt.Sprintf("recall@%d", r.First),
				fmt.Sprintf("%.3f", r.Share)})
		}
		rows = append(rows, []string{"all@5", fmt.Sprintf("%.3f", e.AllAt5)},
			[]string{"MRR", fmt.Sprintf("%.3f", e.MRR)})
	}
	if e.NoMatch > 0 {
		rows = append(rows, []string{"nothing fits",
			fmt.Sprintf("%d of %d find nothing", e.Nothing, e.NoMatch)})
	}
	std.Out.PrintTable(rows)
	for i, m := range e.Misses {
		if i == 0 {
			std.Out.Print(fmt.Sprintf("\nmissed by the first ten (%d):\n", len(e.Misses)))
		}
		var parts []string
		for _, t := range m.Tools {
			switch {
			case !t.Known:
				parts = append(parts, t.Tool+" (no server has it)")
			case t.Place == 0:
				parts = append(parts, t.Tool+" (not found)")
			default:
				parts = append(parts, fmt.Sprintf("%s (number %d)", t.Tool, t.Place))
			}
		}
		if parts == nil {
			parts = []string{"nothing should be found"}
		}
		if m.Found != nil {
			parts = append(parts, "found: "+strings.Join(m.Found, ", "))
		}
		std.Out.Print(std.Out.Columns().Wrap(m.Query+": "+strings.Join(parts, "; "), 2, 6) + "\n")
	}
	return nil
}

func measure(index *toolsearch.Index, tools []searchedTool,
	queries []toolsearch.Question) evaluation {
	e := evaluation{Tools: len(tools)}
	outcomes := make([]toolsearch.Outcome, len(queries))
	for n, q := range queries {
		var names [][]string
		m := miss{Query: q.Query}
		hits := index.Search(q.Query, toolsearch.Options{Limit: max(len(tools), 1)}).Hits
		for i, hit := range hits {
			names = append(names, tools[hit.Tool].names())
			if i < 3 {
				m.Found = append(m.Found, tools[hit.Tool].name())
			}
		}
		o := q.Judge(names)
		outcomes[n] = o
		for i, place := range o.Places {
			if place == 0 || place > 10 {
				known := slices.ContainsFunc(tools,
					func(t searchedTool) bool { return t.is(q.Tools[i]) })
				m.Tools = append(m.Tools, missed{q.Tools[i], place, known})
			}
		}
		switch {
		case !o.Answerable && o.None:
			e.Nothing++
		case !o.Answerable, m.Tools != nil:
			e.Misses = append(e.Misses, m)
		}
	}
	s := toolsearch.Summarize(outcomes)
	e.Queries, e.AllAt5, e.MRR, e.NoMatch = s.Answerable, s.All5, s.MRR, s.Others
	for i, depth := range toolsearch.Depths() {
		e.Recall = append(e.Recall, recallAt{depth, s.Recall[i]})
	}
	return e
}
