package calls

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolsearch"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxQueries = 16 << 20 // bytes of a file of queries

// An evalQuery is a query, and the tools that fit it; none if nothing should be found.
type evalQuery struct {
	Query string   `json:"query"`
	Tools []string `json:"tools"` // names, of their own or as a gateway names them
}

// readQueries reads a file with a query on each line.
func readQueries(path string) (all []evalQuery, err error) {
	text, err := userfile.Text(userfile.ReadArgument(path, maxQueries))
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var q evalQuery
		if err := jsonscan.Valid(line); err != nil {
			return nil, command.Usagef("%s:%d: it is not JSON: %v", path, number, err)
		}
		if err := mcp.Unmarshal(line, &q); err != nil {
			return nil, command.Usagef("%s:%d: %v", path, number, err).WithHint(
				`a line looks like this: {"query": "read a file", "tools": ["read_file"]}`)
		}
		all = append(all, q)
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
	queries []evalQuery) error {
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

func measure(index *toolsearch.Index, tools []searchedTool, queries []evalQuery) evaluation {
	e := evaluation{Tools: len(tools), Recall: []recallAt{{First: 1}, {First: 3}, {First: 5},
		{First: 10}}}
	for _, q := range queries {
		hits := index.Search(q.Query, toolsearch.Options{Limit: max(len(tools), 1)}).Hits
		m := miss{Query: q.Query}
		for _, hit := range hits[:min(3, len(hits))] {
			m.Found = append(m.Found, tools[hit.Tool].name())
		}
		if len(q.Tools) == 0 {
			e.NoMatch++
			if len(hits) == 0 {
				e.Nothing++
			} else {
				e.Misses = append(e.Misses, m)
			}
			continue
		}
		e.Queries++
		best, last := 0, 0 // places; those of tools that are not found are after all others
		for _, name := range q.Tools {
			place := 0
			for i, hit := range hits {
				if tools[hit.Tool].is(name) {
					place = i + 1
					break
				}
			}
			for i := range e.Recall {
				if place > 0 && place <= e.Recall[i].First {
					e.Recall[i].Share += 1 / float64(len(q.Tools))
				}
			}
			if place > 0 && (best == 0 || place < best) {
				best = place
			}
			if place == 0 {
				last = math.MaxInt
			}
			last = max(last, place)
			if place == 0 || place > 10 {
				known := slices.ContainsFunc(tools,
					func(t searchedTool) bool { return t.is(name) })
				m.Tools = append(m.Tools, missed{name, place, known})
			}
		}
		if best > 0 {
			e.MRR += 1 / float64(best)
		}
		if last <= 5 {
			e.AllAt5++
		}
		if m.Tools != nil {
			e.Misses = append(e.Misses, m)
		}
	}
	if n := float64(e.Queries); n > 0 {
		e.MRR /= n
		e.AllAt5 /= n
		for i := range e.Recall {
			e.Recall[i].Share /= n
		}
	}
	return e
}
