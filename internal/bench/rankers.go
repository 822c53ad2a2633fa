package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolsearch"
)

// maxRanked is how many hits of a ranker count.
const maxRanked = 50

// A ranker indexes tools, and returns what finds the numbers of those that fit a query, the best
// first.
type ranker struct {
	program string
	index   func(tools []toolsearch.Tool) func(query string) []int
}

// rankers are the ranking of stdwire and those of other gateways, written anew from their sources.
var rankers = []ranker{
	{"stdwire", func(tools []toolsearch.Tool) func(string) []int {
		x := toolsearch.New(tools)
		return func(query string) (found []int) {
			for _, h := range x.Search(query, toolsearch.Options{Limit: maxRanked}).Hits {
				found = append(found, h.Tool)
			}
			return found
		}
	}},
	{"FastMCP", fastMCPRanker},
	{"ToolHive", toolHiveRanker},
	{"mcpproxy", mcpproxyRanker},
}

// A bag is an inverted index of documents that are bags of words.
type bag struct {
	postings map[string][]bagPosting
	lengths  []float64
	mean     float64
}

type bagPosting struct {
	document int
	count    float64
}

func newBag(documents [][]string) *bag {
	b := &bag{postings: map[string][]bagPosting{}, lengths: make([]float64, len(documents))}
	for i, document := range documents {
		b.lengths[i] = float64(len(document))
		b.mean += float64(len(document)) / float64(len(documents))
		for _, word := range document {
			p := b.postings[word]
			if n := len(p); n > 0 && p[n-1].document == i {
				p[n-1].count++
			} else {
				b.postings[word] = append(p, bagPosting{i, 1})
			}
		}
	}
	return b
}

// bm25 adds what a word counts by BM25.
func (b *bag) bm25(scores []float64, word string, idf func(n, df float64) float64,
	k1, slope float64) {
	p := b.postings[word]
	weight := idf(float64(len(b.lengths)), float64(len(p)))
	for _, p := range p {
		scores[p.document] += weight * p.count * (k1 + 1) /
			(p.count + k1*(1-slope+slope*b.lengths[p.document]/b.mean))
	}
}

// ranked returns the documents with a score above 0, the best first; first those that before orders
// first, or the first ones.
func ranked(scores []float64, before func(a, b int) int) (found []int) {
	for i, score := range scores {
		if score > 0 {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		tie := a - b
		if before != nil {
			tie = cmp.Or(before(a, b), tie)
		}
		return cmp.Or(cmp.Compare(scores[b], scores[a]), tie)
	})
	return found[:min(len(found), maxRanked)]
}

func member(t toolsearch.Tool, name string) string {
	text, _ := jsonscan.Text(jsonscan.Member(t.Definition, name))
	return text
}

// fastMCPRanker is BM25Search of FastMCP: one bag of the name, the description and the names and
// descriptions of parameters.
func fastMCPRanker(tools []toolsearch.Tool) func(string) []int {
	split := func(text string) []string {
		all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
		return slices.DeleteFunc(all, func(w string) bool { return len(w) < 2 })
	}
	documents := make([][]string, len(tools))
	for i, t := range tools {
		text := t.Name + " " + member(t, "description")
		properties := jsonscan.Member(jsonscan.Member(t.Definition, "inputSchema"), "properties")
		for name, property := range jsonscan.Members(properties) {
			n, _ := jsonscan.Text(name)
			d, _ := jsonscan.Text(jsonscan.Member(property, "description"))
			text += " " + n + " " + d
		}
		documents[i] = split(text)
	}
	b := newBag(documents)
	idf := func(n, df float64) float64 { return math.Log((n-df+.5)/(df+.5) + 1) }
	return func(query string) []int {
		scores := make([]float64, len(tools))
		for _, word := range split(query) {
			b.bm25(scores, word, idf, 1.5, .75)
		}
		return ranked(scores, nil)
	}
}

// toolHiveRanker is the full-text search of ToolHive, without its optional embeddings: FTS5 of
// SQLite with the tokenizer porter over the name and the description. Words that ToolHive calls
// problematic are left out of queries; its newer versions search for the whole query as a phrase if
// it has one, and so find less.
func toolHiveRanker(tools []toolsearch.Tool) func(string) []int {
	problematic := strings.Fields("name description schema input output type properties required " +
		"title id tool server meta data content text value field column table index key primary")
	split := func(text string) []string {
		all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		for i := range all {
			all[i] = porter(all[i])
		}
		return all
	}
	documents := make([][]string, len(tools))
	for i, t := range tools {
		documents[i] = split(t.Name + " " + member(t, "description"))
	}
	b := newBag(documents)
	idf := func(n, df float64) float64 { return max(math.Log((n-df+.5)/(df+.5)), 1e-6) }
	return func(query string) []int {
		scores := make([]float64, len(tools))
		for _, word := range strings.Fields(strings.ToLower(query)) {
			if slices.Contains(problematic, word) {
				continue
			}
			for _, part := range split(word) {
				b.bm25(scores, part, idf, 1.2, .75)
			}
		}
		return ranked(scores, nil)
	}
}

// mcpproxyRanker is SearchTools of mcpproxy-go: queries of Bleve, scored by its tf-idf. The
// standard analyzer of Bleve does not split names at underscores.
func mcpproxyRanker(tools []toolsearch.Tool) func(string) []int {
	stop := strings.Fields("a an and are as at be but by for if in into is it no not of on or such " +
		"that the their then there these they this to was will with")
	split := func(text string) []string {
		all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
		})
		return slices.DeleteFunc(all, func(w string) bool { return slices.Contains(stop, w) })
	}
	searchable, all := make([][]string, len(tools)), make([][]string, len(tools))
	for i, t := range tools {
		schema := string(jsonscan.Member(t.Definition, "inputSchema"))
		description := member(t, "description")
		searchable[i] = split(strings.Join([]string{t.Name, t.Server + ":" + t.Name, description,
			schema}, " "))
		all[i] = slices.Concat([]string{t.Name, t.Server + ":" + t.Name, t.Server},
			split(description), split(schema), searchable[i])
	}
	bags := []struct {
		*bag
		boost float64
	}{{newBag(all), 1}, {newBag(searchable), 1.5}}
	n := float64(len(tools))
	rarity := func(df int) float64 { return 1 + math.Log(n/float64(df+1)) }
	return func(query string) []int {
		scores, queries := make([]float64, len(tools)), make([]float64, len(tools))
		clauses := 5.0
		add := func(i int, score float64) { scores[i], queries[i] = scores[i]+score, queries[i]+1 }
		words := split(query)
		for _, b := range bags {
			sum, matched := make([]float64, len(tools)), make([]float64, len(tools))
			for _, word := range words {
				idf := rarity(len(b.postings[word]))
				for _, p := range b.postings[word] {
					sum[p.document] += math.Sqrt(p.count) / math.Sqrt(b.lengths[p.document]) *
						idf * idf * b.boost
					matched[p.document]++
				}
			}
			for i := range sum {
				if matched[i] > 0 {
					add(i, sum[i]*matched[i]/float64(len(words)))
				}
			}
		}
		wildcard := strings.Contains(query, "_")
		if wildcard {
			clauses++
		}
		for i, t := range tools {
			if t.Name == query {
				add(i, 5*rarity(1)*rarity(1))
			}
			if t.Server+":"+t.Name == query {
				add(i, 4*rarity(1)*rarity(1))
			}
			if strings.HasPrefix(t.Name, query) {
				add(i, 3*rarity(1)*rarity(1))
			}
			if wildcard && strings.Contains(t.Name, query) {
				add(i, 2.5*rarity(1)*rarity(1))
			}
		}
		for i := range scores {
			scores[i] *= queries[i] / clauses
		}
		return ranked(scores, func(a, b int) int {
			return strings.Compare(tools[a].Server+":"+tools[a].Name,
				tools[b].Server+":"+tools[b].Name)
		})
	}
}
