package toolsearch

// A query is what a search looks for: words, each once.
type query []queryWord

// A queryWord is a word of a query. It is unknown if it has no terms.
type queryWord struct {
	text   string
	terms  []queryTerm // those of visible tools by which it is found: its own, and synonyms
	rarity float64
}

type queryTerm struct {
	text   string
	number uint32
	weight float64 // what it counts, apart from the tool
}

// synonymWeight is how much a synonym of a word counts beside the word.
const synonymWeight = .7

// parse returns the words of a query. If no visible tool has a word, its parts are looked for.
func (v *view) parse(text string) (q query) {
	seen := map[string]bool{}
	add := func(text, term string, evenUnknown bool) bool {
		if seen[term] {
			return true
		}
		w := v.word(text, term)
		if len(w.terms) == 0 && !evenUnknown {
			return false
		}
		seen[term] = true
		q = append(q, w)
		return true
	}
	for word := range words(truncate(text, maxQuery)) {
		if len(q) >= maxWords {
			break
		}
		terms := indexTerms(word)
		if len(terms) == 0 || add(word, terms[0], false) {
			continue
		}
		parts := false
		for _, term := range terms[1:] {
			parts = add(word, term, false) || parts
		}
		if !parts {
			add(word, terms[0], true)
		}
	}
	return q
}

// word returns a word with the terms that visible tools have.
func (v *view) word(text, term string) queryWord {
	number, tools := v.lookup(term)
	w := queryWord{text: text, rarity: v.rarity(tools)}
	if tools > 0 {
		w.terms = append(w.terms, queryTerm{term, number, w.rarity})
	}
	for _, other := range synonyms()[term] {
		if number, tools := v.lookup(other); tools > 0 {
			weight := float64(float32(synonymWeight * min(w.rarity, v.rarity(tools))))
			w.terms = append(w.terms, queryTerm{other, number, weight})
		}
	}
	return w
}

// unknown returns the words that no visible tool has.
func (q query) unknown() (all []string) {
	for _, w := range q {
		if len(w.terms) == 0 {
			all = append(all, w.text)
		}
	}
	return all
}

// coverage returns the share of the known words in what the words say, by their rarity: 0 to 1.
func (q query) coverage() float64 {
	var known, total float64
	for _, w := range q {
		total += w.rarity
		if len(w.terms) > 0 {
			known += w.rarity
		}
	}
	if total == 0 {
		return 0
	}
	return known / total
}
