package hosts

import (
	"regexp"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

func TestRows(t *testing.T) {
	assert.Assert(t, slices.IsSorted(IDs()))
	assert.Assert(t, len(slices.Compact(IDs())) == len(table))
	for _, h := range table {
		assert.Assert(t, h.Title != "" && h.Source != "", h.ID)
		assert.Assert(t, regexp.MustCompile(`^20\d\d-(0[1-9]|1[012])$`).MatchString(h.Date), h.ID)
		assert.Equal(t, h.MaxName > 0, h.NameCut != "", h.ID)
		assert.Equal(t, h.MaxTools > 0, h.ToolsCut != "", h.ID)
		assert.Assert(t, h.MaxDescription >= 0 && h.MaxInstructions >= 0 && h.MaxResult >= 0, h.ID)
		byID, ok := ByID(h.ID)
		assert.Assert(t, ok)
		assert.DeepEqual(t, byID, h)
	}
	_, ok := ByID("")
	assert.Assert(t, !ok)
}

func TestOf(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code":                   "claude-code",
		"Claude-Code":                   "claude-code",
		"claude-code-2":                 "",
		"codex-mcp-client":              "codex",
		"Visual Studio Code":            "vscode",
		"Visual Studio Code - Insiders": "vscode",
		"Visual Studio":                 "",
		"cursor-vscode":                 "cursor",
		"gemini-cli-mcp-client":         "gemini",
		"gemini-cli-mcp-client-stdwire": "gemini",
		"github-copilot-developer":      "copilot-cli",
		"goose":                         "goose",
		"goose-desktop":                 "goose",
		"gooseberry":                    "",
		"opencode":                      "opencode",
		"anthropic":                     "", // an API is no client
		"":                              "",
		"*":                             "",
	} {
		h, _ := Of(name)
		assert.Equal(t, h.ID, want, name)
	}
}

func TestTokens(t *testing.T) {
	assert.Equal(t, Tokens(0), 0)
	assert.Equal(t, Tokens(1), 1)
	assert.Equal(t, Tokens(40_000), 10_000)
}

func TestMaxToolName(t *testing.T) {
	codex, _ := ByID("codex")
	assert.Equal(t, codex.NamePrefix("stdwire"), "mcp__stdwire__")
	assert.Equal(t, codex.MaxToolName("stdwire"), 50)
	assert.Equal(t, codex.MaxToolName(string(make([]byte, 100))), 1)
	openai, _ := ByID("openai")
	assert.Equal(t, openai.MaxToolName("stdwire"), 64)
	assert.Equal(t, Host{}.MaxToolName("stdwire"), 0)
}
