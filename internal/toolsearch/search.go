package toolsearch

import (
	"cmp"
	"slices"
)

// Limits of a query. What is beyond them does not count.
const (
	maxQuery = 4 << 10 // bytes
	maxWords = 64
)

// abstention is the share of what the words of a query say that known words must have, so that
// there are hits.
const abstention = .22

// Options are the options of a search.
type Options struct {
	// Limit is the greatest number of hits; 0 is 5.
	Limit int
	// Allow reports whether a tool may be found, by its number in the slice that New was given:
	// that the caller may use it, and that it is of the server or kind that is asked for. It is
	// called once for each tool. Nil allows all.
	Allow func(tool int) bool
}

// A Hit is a tool that fits a query.
type Hit struct {
	Tool  int     // its number in the slice that New was given
	Score float64 // more is better; comparable within one result only; 0 if only Exact
	Exact bool    // the query is its name, its public name, or the names of its server and itself
}

// A Result is the result of a search.
type Result struct {
	Hits  []Hit // the best first, and those with the name that the query is before all others
	Found int   // how many tools have a word of the query, or its name
	// Unknown has the words of the query that no allowed tool has, nor a synonym of them, as they
	// are written in the query; no stop words.
	Unknown []string
	// Abstained is whether tools that have a word of the query were left out, because its unknown
	// words say more about what is looked for. There are no hits then.
	Abstained bool
}

// Search returns the tools that fit a query best. The query is a sentence, keywords or a name; of
// more than 4 KiB or 64 different words, the first count. The result is the same for the same
// arguments on every machine. If nothing fits, it has no hits; so has a query of stop words only,
// such as "what can you do".
func (x *Index) Search(query string, o Options) Result {
	v := x.view(o.Allow)
	q := v.parse(query)
	scores := v.scores(q)
	name := exactName(truncate(query, maxQuery))
	few := q.coverage() < abstention
	result := Result{Unknown: q.unknown()}
	best := top{limit: cmp.Or(max(o.Limit, 0), 5), compare: x.compare}
	for tool, score := range scores {
		exact := x.tools[tool].is(name) && v.sees(uint32(tool))
		switch {
		case !exact && score == 0:
		case !exact && few:
			result.Abstained = true
		default:
			result.Found++
			best.add(Hit{tool, score, exact})
		}
	}
	result.Hits = best.hits
	result.Abstained = result.Abstained && result.Found == 0
	return result
}

// A top keeps the best hits, in order.
type top struct {
	limit   int
	compare func(a, b int) int // of tools with the same score
	hits    []Hit
}

func (t *top) add(h Hit) {
	if len(t.hits) == t.limit {
		if t.order(h, t.hits[t.limit-1]) > 0 {
			return
		}
		t.hits = t.hits[:t.limit-1]
	}
	i, _ := slices.BinarySearchFunc(t.hits, h, t.order)
	t.hits = slices.Insert(t.hits, i, h)
}

func (t *top) order(a, b Hit) int {
	if a.Exact != b.Exact {
		if a.Exact {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), t.compare(a.Tool, b.Tool))
}
