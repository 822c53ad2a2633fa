package appuri

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"gotest.tools/v3/assert"
)

// The URI of an app in a result becomes the public one, however its characters are encoded.
func TestInMessage(t *testing.T) {
	for _, uri := range []string{`ui://b/x`, `UI://b/x`, `uI://b/x`, `\u0075i://b/x`,
		`u\u0069://b/x`, `U\u0049://b/x`, `ui\u003a//b/x`, `ui\u003A//b/x`,
		`\u0055\u0049\u003a\/\u002fb/x`} {
		result := json.RawMessage(
			`{"content":[{"type":"resource_link","name":"n","uri":"` + uri + `"}]}`)
		var got struct{ Content []struct{ URI string } }
		assert.NilError(t, json.Unmarshal(InMessage("a", result), &got))
		assert.Equal(t, strings.ToLower(got.Content[0].URI), "ui://a/b/x", uri)
	}
	for _, text := range []string{`http://x`, `ui`, `ui\u00e9`, `u:i\u003c`, ``} {
		result := json.RawMessage(`{"content":[{"type":"text","ui":1,"text":"` + text + `"}]}`)
		assert.NilError(t, jsonscan.Valid(result))
		assert.Assert(t, !mentionsApp(result), text)
		assert.Equal(t, &InMessage("a", result)[0], &result[0], text)
	}
	assert.Equal(t, string(InMessage("a", json.RawMessage(`:`))), `:`)
	assert.Equal(t, string(InMessage("a", json.RawMessage(`\u00`))), `\u00`)
}

func FuzzMentionsApp(f *testing.F) {
	for _, text := range []string{`"ui://a"`, `"\u0055\u0069\u003A//a"`, `"u\u0049://"`, `"ui"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var uri string
		if json.Unmarshal([]byte(text), &uri) == nil && appdef.IsURI(uri) {
			assert.Assert(t, mentionsApp([]byte(`{"uri":`+text+`}`)))
		}
	})
}

func BenchmarkMentionsApp(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"text", strings.Repeat("The quick brown fox said so: nothing. ", 1725)},
		{"quoted JSON", strings.Repeat(`{\"path\":\"internal/urls\",\"size\":12},`, 1640)},
		{"JSON", `"},` + strings.Repeat(`{"path":"internal/urls","size":12,"user":true},`, 1395)},
	} {
		b.Run(fmt.Sprintf("%s, %d B", bench.name, len(bench.text)), func(b *testing.B) {
			result := []byte(`{"content":[{"type":"text","text":"` + bench.text + `"}]}`)
			for b.Loop() {
				if mentionsApp(result) {
					b.Fatal("found")
				}
			}
		})
	}
}
