package toolsearch

import "slices"

// An Explanation says why a tool has its place in the result of a query.
type Explanation struct {
	Hit
	// Rank is the place of the tool among all that fit, 1 for the first; 0 if it does not fit, or
	// is not allowed.
	Rank int
	// Coverage is the share of the known words in what the words of the query say, 0 to 1. Below
	// Needed, only a name has hits.
	Coverage, Needed float64
	Words            []WordScore // without stop words
}

// A WordScore says what a word of a query counts for a tool.
type WordScore struct {
	Word   string
	Rarity float64  // what the word counts: the fewer allowed tools have it, the more
	Known  bool     // whether an allowed tool has it or a synonym
	Term   string   // the stem by which the tool has it, or that of a synonym; "" if it has none
	Fields []string // where the tool has it: name, title, description, parameter and others
	Score  float64  // what it adds to the score of the tool
}

// Explain says what the words of a query count for a tool of the index, with the same Allow as in
// the search; Limit has no influence.
func (x *Index) Explain(tool int, query string, o Options) Explanation {
	v := x.view(o.Allow)
	q := v.parse(query)
	e := Explanation{Hit: Hit{Tool: tool}, Coverage: q.coverage(), Needed: abstention}
	o.Limit = max(x.Len(), 1)
	hits := x.Search(query, o).Hits
	if i := slices.IndexFunc(hits, func(h Hit) bool { return h.Tool == tool }); i >= 0 {
		e.Hit, e.Rank = hits[i], i+1
	}
	for _, w := range q {
		e.Words = append(e.Words, v.explain(uint32(tool), w))
	}
	return e
}

func (v *view) explain(tool uint32, w queryWord) WordScore {
	s := WordScore{Word: w.text, Rarity: w.rarity, Known: len(w.terms) > 0}
	for _, t := range w.terms {
		from, to := v.starts[t.number], v.starts[t.number+1]
		i, found := slices.BinarySearch(v.posted[from:to], tool)
		if !found || !v.sees(tool) {
			continue
		}
		at := int(from) + i
		if score := t.weight * float64(v.weight[at]); score > s.Score {
			s.Score, s.Term, s.Fields = score, t.text, nil
			for f, rule := range rules {
				if v.fields[at]&(1<<f) != 0 {
					s.Fields = append(s.Fields, rule.name)
				}
			}
		}
	}
	return s
}
