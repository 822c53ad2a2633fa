package uritemplate

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestSet(t *testing.T) {
	templates := []string{
		0: "file:///{+path}", 1: "file:///etc/{name}", 2: "file:///etc/hosts",
		3: "{scheme}://{+rest}", 4: "db://{table}/{id}", 5: "db://{table}/all",
		6: "db://{table}", 7: "file:///etc/{+any}", 8: "doc://é/{x}", 9: "doc://%FF{x}",
		10: "file:///et{x}/{y}", 11: "",
	}
	for _, e := range []struct {
		uri    string
		index  int
		values string
	}{
		{"file:///etc/hosts", 2, ``}, {"file:///etc/passwd", 1, `name="passwd"`},
		{"file:///etc/ssh/config", 7, `any="ssh/config"`},
		{"file:///etcetera", 0, `path="etcetera"`},
		{"file:///etcetera/x", 10, `x="cetera" y="x"`}, {"file:///", 0, ``},
		{"file://", 3, `scheme="file"`}, {"db://t/all", 4, `id="all" table="t"`},
		{"db://t", 6, `table="t"`},
		{"db://t/a/b", 3, `rest="t/a/b" scheme="db"`}, {"doc://é/1", 8, `x="1"`},
		{"doc://%c3%A9/1", 8, `x="1"`}, {"doc://%FFa", -1, ``},
		{"", 11, ``}, {"x", -1, ``}, {"a b", -1, ``},
		{"zzz://x", 3, `rest="x" scheme="zzz"`}, {"file:///etc/%zz", -1, ``},
	} {
		index, values, ok := setOf(t, templates).Match(e.uri)
		assert.Equal(t, index, e.index, e.uri)
		assert.Equal(t, ok, e.index >= 0, e.uri)
		assert.Equal(t, show(values), e.values, e.uri)
	}
	index, _, ok := NewSet().Match("a")
	assert.Assert(t, !ok && index == -1)
}

// A Set finds what trying every template would find.
func TestSetMatchesLikeEachTemplate(t *testing.T) {
	var templates []string
	for _, a := range []string{"", "a", "ab", "abc", "b", "ba", "bab"} {
		for _, rest := range []string{"{x}", "{+x}a", "b{/x}", "{x}{?y}", "{x:1}"} {
			templates = append(templates, a+rest)
		}
	}
	set := setOf(t, templates)
	for n := range 1 << 12 {
		uri := strings.NewReplacer("0", "a", "1", "b", "2", "c", "3",
			"/").Replace(fmt.Sprintf("%o", n))
		uri = strings.NewReplacer("4", "?y=", "5", "d", "6", "ab", "7", "").Replace(uri)
		want, longest := -1, -1
		for i, text := range templates {
			template := mustParse(t, text)
			if _, ok := template.Match(uri); ok && len(template.prefix) > longest {
				want, longest = i, len(template.prefix)
			}
		}
		index, _, _ := set.Match(uri)
		assert.Equal(t, index, want, uri)
	}
}

func setOf(t testing.TB, texts []string) *Set {
	var templates []*Template
	for _, text := range texts {
		templates = append(templates, mustParse(t, text))
	}
	return NewSet(templates...)
}

// BenchmarkSet looks up a URI among many templates. Those with another prefix must cost nothing;
// those with the same prefix are tried.
func BenchmarkSet(b *testing.B) {
	for _, bench := range []struct{ name, template, hit, near, miss string }{
		{"beginnings", "app://service#/items/{id}/data", "app://service#/items/42/data",
			"app://service#/items/42/other", "app://unknown/items/42/data"},
		{"endings", "app://{id}/data#", "app://42/data#", "app://42/other", "bpp://42/data#"},
	} {
		for _, uri := range []struct{ name, text string }{{"hit", bench.hit}, {"near", bench.near},
			{"miss", bench.miss}} {
			for _, n := range []int{1, 100, 1000} {
				b.Run(fmt.Sprintf("%s/%s/%d", bench.name, uri.name, n), func(b *testing.B) {
					texts := make([]string, n)
					for i := range texts {
						texts[i] = strings.ReplaceAll(bench.template, "#", fmt.Sprint(1000+i))
					}
					set := setOf(b, texts)
					text := strings.ReplaceAll(uri.text, "#", fmt.Sprint(1000+n/2))
					b.ReportAllocs()
					for b.Loop() {
						if _, _, ok := set.Match(text); ok != (uri.name == "hit") {
							b.Fatal(ok)
						}
					}
				})
			}
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, bench := range []struct{ template, uri string }{
		{"file:///{+path}", "file:///home/ann/notes/2026/todo.md"},
		{"repo://{owner}/{name}/contents{/path*}{?ref,format}",
			"repo://stdwire/stdwire/contents/rpc/peer.go?format=raw&ref=main"},
		{"{+a}x{+b}y{+c}z", strings.Repeat("xy", MaxURI/2-1) + "z"},
	} {
		b.Run(fmt.Sprintf("%.12s", strings.ReplaceAll(bench.template, "/", "")),
			func(b *testing.B) {
				template := mustParse(b, bench.template)
				b.SetBytes(int64(len(bench.uri)))
				b.ReportAllocs()
				for b.Loop() {
					template.Match(bench.uri)
				}
			})
	}
}
