package toolsearch

import "math"

// A view is the part of an index that a caller may see. All that it counts are visible tools.
type view struct {
	*Index
	allowed []bool // nil if all are
	count   int
}

func (x *Index) view(allow func(tool int) bool) *view {
	v := &view{Index: x, count: len(x.tools)}
	if allow == nil {
		return v
	}
	v.count, v.allowed = 0, make([]bool, len(x.tools))
	for tool := range v.allowed {
		if allow(tool) {
			v.allowed[tool] = true
			v.count++
		}
	}
	return v
}

func (v *view) sees(tool uint32) bool { return v.allowed == nil || v.allowed[tool] }

// lookup returns the number of a term, and how many tools have it.
func (v *view) lookup(term string) (number uint32, tools int) {
	number, known := v.terms[term]
	if !known {
		return 0, 0
	}
	posted := v.posted[v.starts[number]:v.starts[number+1]]
	if v.allowed == nil {
		return number, len(posted)
	}
	for _, tool := range posted {
		if v.allowed[tool] {
			tools++
		}
	}
	return number, tools
}

// rarity returns how much a word says that this many tools have: its inverse document frequency. It
// has the precision of a float32, so that machines which compute in other ways agree, and so that
// its products with weights are exact.
func (v *view) rarity(tools int) float64 {
	return float64(float32(math.Log1p((float64(v.count-tools) + .5) / (float64(tools) + .5))))
}

// scores adds up what the words of a query count for each tool. Of a word and its synonyms, the one
// counts that counts most.
func (v *view) scores(q query) []float64 {
	scores, best := make([]float64, len(v.tools)), make([]float64, len(v.tools))
	var found []uint32
	for _, w := range q {
		found = found[:0]
		for _, t := range w.terms {
			for i := v.starts[t.number]; i < v.starts[t.number+1]; i++ {
				tool := v.posted[i]
				if !v.sees(tool) {
					continue
				}
				if best[tool] == 0 {
					found = append(found, tool)
				}
				best[tool] = max(best[tool], t.weight*float64(v.weight[i]))
			}
		}
		for _, tool := range found {
			scores[tool] += best[tool]
			best[tool] = 0
		}
	}
	return scores
}
