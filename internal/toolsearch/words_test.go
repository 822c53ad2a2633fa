package toolsearch

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"read_file", "read file"},
		{"getHTTPResponse", "getHTTPResponse"},
		{"a-b/c.d:e,f", "a b c d e f"},
		{"用必应搜索 x", "用必 必应 应搜 搜索 x"},
		{"中", "中"},
		{"使用API搜索", "使用 API 搜索"},
		{"", ""},
		{"\xffa\xff", "a"},
	} {
		assert.Equal(t, strings.Join(slices.Collect(words(tt.text)), " "), tt.want, tt.text)
	}
}

func TestParts(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"createIssue", "create Issue"},
		{"getHTTPResponse", "get HTTP Response"},
		{"getS3Object", "get S3 Object"},
		{"NFTs", "NFTs"},
		{"IDs", "IDs"},
		{"base64", "base64"},
		{"3D", "3D"},
		{"Österreich", "Österreich"},
		{"ABC", "ABC"},
	} {
		assert.Equal(t, strings.Join(parts(tt.word), " "), tt.want, tt.word)
	}
}

func TestIndexTerms(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"GitHub", "github git hub"},
		{"sha256", "sha256 sha"},
		{"s3", "s3"},
		{"the", ""},
		{"toMarkdown", "tomarkdown markdown"},
	} {
		assert.Equal(t, strings.Join(indexTerms(tt.word), " "), tt.want, tt.word)
	}
}

// All forms of a word have one stem, which is not that of the other words.
func TestStem(t *testing.T) {
	seen := map[string]string{}
	for _, forms := range []string{
		"create creates created creating creation creator",
		"translate translation translations translator translating",
		"query queries querying",
		"category categories",
		"file files", "folder folders", "image images", "issue issues",
		"box boxes", "search searches searching searched", "class classes",
		"run running runs runner", "add adding adds", "install installation installed installer",
		"recommend recommendation recommends", "format formats formatting formatted",
		"form forms", "status", "analysis", "bus", "news", "user users", "id", "ids",
		"navigate navigation", "summary summaries summarize",
	} {
		fields := strings.Fields(forms)
		first := stem(fields[0])
		for _, form := range fields {
			assert.Equal(t, stem(form), first, form)
		}
		assert.Equal(t, seen[first], "", forms)
		seen[first] = forms
	}
}

// The terms of a field are bounded, whatever its words consist of.
func TestTermsAreBounded(t *testing.T) {
	var text strings.Builder
	for n := range 200 * maxWord / 3 {
		if n%(maxWord/3) == 0 {
			text.WriteByte(' ')
		}
		text.Write([]byte{'A' + byte(n%26), 'a' + byte(n/26%26), 'a' + byte(n/676%26)})
	}
	x := New([]Tool{{Name: "n", Definition: []byte(`{"description":"` + text.String() + `"}`)}})
	most := rules[descriptionField].most
	assert.Assert(t, len(x.posted) > most && len(x.posted) <= termsPerWord*most+maxWord,
		"%d", len(x.posted))
}
