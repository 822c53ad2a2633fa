// Package toolsearch finds the tools that fit a query among those of many servers, by their
// definitions. It ranks by BM25 over fields: name, title, description, parameters and server. It
// knows English inflections and some synonyms, and nothing else of any language; Chinese, Japanese
// and Korean are compared by pairs of characters.
//
//	x := toolsearch.New(tools)
//	found := x.Search("open a pull request", toolsearch.Options{Limit: 5, Allow: mayUse})
//	for _, hit := range found.Hits {
//		use(tools[hit.Tool])
//	}
//	if found.Abstained {
//		// No tool does that. found.Unknown has the words that no tool has.
//	}
//
// An [Index] does not change: a changed list of tools needs another index.
//
// # What counts
//
// A field counts each of its words once, so that a server does not gain by repeating one, and the
// less the more words it has, so that it does not gain by listing many. Fields add up, but a word
// counts at most three times as much as one that stands once in a short description. Words beyond
// the limits of a field, and text beyond 32 KiB of a definition, do not count.
//
// # Hidden tools
//
// Nothing in a result depends on tools that [Options].Allow hides: neither hits, nor their order
// and scores, nor which words are unknown. It is what an index of the allowed tools alone returns.
//
// # Order
//
// Tools with the same score are ordered by server, then by name. The order of the tools in an index
// has no influence, unless two of them have the same server and name.
package toolsearch

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Tool is what an index knows a tool by.
type Tool struct {
	Server string // the id of its server; "" for none
	Name   string // the server's own name of the tool
	Public string // the name by which clients call it, or "" if it is Server__Name or Name
	// Definition is the JSON object of tools/list, as the server wrote it. New keeps words of it
	// only. One that is not valid JSON counts as empty.
	Definition []byte
}

// An Index finds tools. Its methods may be called concurrently. With 6,000 tools it takes about
// 5 MB.
type Index struct {
	tools []entry
	terms map[string]uint32 // the number of each term
	// The postings of term t are those from starts[t] to before starts[t+1], by tool.
	starts []uint32
	posted []uint32  // tools
	weight []float32 // what the term counts for the tool, apart from its rarity
	fields []uint8   // the fields of the tool that have the term: a bit for each
}

// An entry is what an index keeps of a tool itself.
type entry struct {
	server, name           string
	own, qualified, public string // its names, in the form of exactName
}

// New returns the index of tools. With 6,000 tools it takes about 0.3 seconds.
func New(tools []Tool) *Index {
	x := &Index{tools: make([]entry, len(tools)), terms: map[string]uint32{}}
	b := builder{index: x, words: map[string][]uint32{}}
	for i := range tools {
		t := &tools[i]
		x.tools[i] = entry{server: t.Server, name: t.Name, own: exactName(t.Name),
			qualified: exactName(t.Server + "_" + t.Name), public: exactName(t.Public)}
		b.add(uint32(i), t)
	}
	b.finish()
	return x
}

// Len returns the number of tools.
func (x *Index) Len() int { return len(x.tools) }

// compare orders tools by server, name and number.
func (x *Index) compare(a, b int) int {
	return cmp.Or(strings.Compare(x.tools[a].server, x.tools[b].server),
		strings.Compare(x.tools[a].name, x.tools[b].name), cmp.Compare(a, b))
}

// is reports whether the tool has this name, which is in the form of exactName.
func (e *entry) is(name string) bool {
	return name != "" && (name == e.own || name == e.qualified || name == e.public)
}

// exactName returns a name in the form in which names are compared: in lower case, and with one '_'
// for each run of characters that are neither letters nor digits.
func exactName(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !isWord(r) })
	return strings.Join(parts, "_")
}

// A posting is a term of a tool.
type posting struct {
	term, tool uint32
	weight     float32
	fields     uint8
}

// A builder collects the postings of an index.
type builder struct {
	index *Index
	all   []posting
	tool  []posting           // those of the tool that is added
	field []uint32            // the terms of the field that is added
	words map[string][]uint32 // the terms of each word
}

func (b *builder) add(tool uint32, t *Tool) {
	b.tool = b.tool[:0]
	for f, texts := range textsOf(t) {
		b.addField(field(f), texts)
	}
	slices.SortStableFunc(b.tool, func(a, b posting) int { return cmp.Compare(a.term, b.term) })
	for i := 0; i < len(b.tool); {
		p := posting{term: b.tool[i].term, tool: tool}
		var sum float64
		for ; i < len(b.tool) && b.tool[i].term == p.term; i++ {
			sum += float64(b.tool[i].weight)
			p.fields |= b.tool[i].fields
		}
		p.weight = float32(sum * (saturation + 1) / (sum + saturation))
		b.all = append(b.all, p)
	}
}

// termsPerWord limits the terms of a field, by the number of words that count in it: words in camel
// case have several terms, and of 48 bytes some dozen.
const termsPerWord = 3

// addField adds the terms of a field, each once.
func (b *builder) addField(f field, texts []string) {
	b.field = b.field[:0]
	left := rules[f].most
	for _, text := range texts {
		for word := range words(text) {
			if left--; left < 0 || len(b.field) >= termsPerWord*rules[f].most {
				break
			}
			b.field = append(b.field, b.terms(word)...)
		}
	}
	slices.Sort(b.field)
	b.field = slices.Compact(b.field)
	weight := float32(rules[f].of(len(b.field)))
	for _, term := range b.field {
		b.tool = append(b.tool, posting{term: term, weight: weight, fields: 1 << f})
	}
}

// terms returns the numbers of the terms of a word.
func (b *builder) terms(word string) []uint32 {
	numbers, known := b.words[word]
	if known {
		return numbers
	}
	for _, term := range indexTerms(word) {
		n, known := b.index.terms[term]
		if !known {
			n = uint32(len(b.index.terms))
			b.index.terms[strings.Clone(term)] = n
		}
		numbers = append(numbers, n)
	}
	b.words[word] = numbers
	return numbers
}

// finish orders the postings by term. Those of a term are ordered by tool already.
func (b *builder) finish() {
	x := b.index
	x.starts = make([]uint32, len(x.terms)+1)
	for _, p := range b.all {
		x.starts[p.term+1]++
	}
	for term := range len(x.terms) {
		x.starts[term+1] += x.starts[term]
	}
	next := slices.Clone(x.starts)
	x.posted = make([]uint32, len(b.all))
	x.weight = make([]float32, len(b.all))
	x.fields = make([]uint8, len(b.all))
	for _, p := range b.all {
		i := next[p.term]
		next[p.term]++
		x.posted[i], x.weight[i], x.fields[i] = p.tool, p.weight, p.fields
	}
}

// truncate returns the beginning of a text, at most limit bytes.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
