package elicit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// sampleWith answers a request to a model with typed lines.
func sampleWith(t *testing.T, params mcp.CreateMessageParams, typed string) (text, seen string,
	err error) {
	t.Helper()
	var b bytes.Buffer
	c := &term.Console{W: &b, Display: term.Display{Terminal: true}}
	a := NewAsker("the server", c, term.NewLineReader(strings.NewReader(typed), c, func() {}))
	result, err := a.sample(t.Context(), params)
	if err == nil {
		assert.Equal(t, result.Role, mcp.RoleAssistant)
		text = result.Content[0].(*mcp.TextContent).Text
	}
	return text, b.String(), err
}

func TestSample(t *testing.T) {
	message := func(role mcp.Role, blocks ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: role, Content: blocks}
	}
	params := mcp.CreateMessageParams{MaxTokens: 9, SystemPrompt: "Be\x07 short.",
		Messages: []mcp.SamplingMessage{
			message(mcp.RoleUser, &mcp.TextContent{Text: "What\nis it?"},
				&mcp.ImageContent{MIMEType: "image/\x07png", Data: make([]byte, 2048)})}}
	text, seen, err := sampleWith(t, params, "A cat.\n  It sleeps.\n\nnot this\n")
	assert.NilError(t, err)
	assert.Equal(t, text, "A cat.\n  It sleeps.")
	assert.Assert(t, cmp.Contains(seen, `the server asks a model for at most 9 tokens. You can answer in its place:
system:
  Be\u0007 short.
user:
  What
  is it?
  [image image/\u0007png 2.0 kB]
`))
	for typed, want := range map[string]string{
		"\n":            "declined",
		"a\n.decline\n": "declined",
		"a\n.cancel\n":  "left without an answer",
		"a\n":           "left without an answer",
		strings.Repeat(strings.Repeat("x", 60<<10)+"\n", 2): "left without an answer",
	} {
		_, _, err := sampleWith(t, params, typed)
		refused, ok := err.(*rpc.Error)
		assert.Assert(t, ok, "%v", err)
		assert.Equal(t, refused.Code, -1)
		assert.Assert(t, cmp.Contains(refused.Message, want))
	}

	// What is shown is bounded.
	params = mcp.CreateMessageParams{}
	for i := range 1000 {
		params.Messages = append(params.Messages,
			message(mcp.Role(strings.Repeat("r", 9999)),
				&mcp.TextContent{Text: fmt.Sprint(i) + strings.Repeat(" long", 9999)}))
	}
	_, seen, _ = sampleWith(t, params, "")
	assert.Assert(t, len(seen) < 100_000, len(seen))
	assert.Assert(t, cmp.Contains(seen, "(980 earlier messages not shown)"))
	assert.Assert(t, cmp.Contains(seen, "\n  999 long"), "the last one counts")
}
