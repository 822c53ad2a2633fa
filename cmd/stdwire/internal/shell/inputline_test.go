package shell

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func TestShellWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "|", "a": "a|", "a ": "a|", "a b 'c d'": "a|[b][c d]",
		`a {"b": "c d"} e`: `a{"b": "c d"}|[e]`, "a {\n\"b\":1}": "a{\"b\":1}|", "a\nb": "a|[b]",
		`'a' '{"b":1}'`: `a|[{"b":1}]`,
	} {
		line, err := parseInputLine(text)
		assert.NilError(t, err)
		got := line.name + string(line.data) + "|"
		for _, word := range line.words {
			got += fmt.Sprintf("[%s]", word)
		}
		assert.Equal(t, got, want, text)
	}
}
