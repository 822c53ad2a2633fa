package elicit

import (
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxShownMessages = 20       // of a sampling request, from the last
	maxAnswer        = 64 << 10 // bytes of a typed answer
)

// sampleRefusal returns the error of a sampling request that the user refuses. A legacy server gets
// the code that the specification has for that (2025-11-25, Sampling, "Error Handling").
func sampleRefusal(why string) error {
	return rpc.Errorf(-1, "User rejected sampling request: %s", why)
}

// sample shows the user a request to a model, and returns what they type as the answer.
func (a *Asker) sample(ctx context.Context, params mcp.CreateMessageParams) (
	*mcp.CreateMessageResult, error) {
	end, err := a.prompter.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	a.printSample(params)
	text, err := a.askText(ctx)
	switch {
	case err == errDeclined:
		a.console.Printf("Declined.")
		return nil, sampleRefusal("declined")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		a.console.Printf("Cancelled.")
		return nil, sampleRefusal("left without an answer")
	}
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "human",
		Content:    mcp.SamplingContent{&mcp.TextContent{Text: text}},
		StopReason: mcp.StopEndTurn}, nil
}

func (a *Asker) printSample(params mcp.CreateMessageParams) {
	a.console.Printf("%s asks a model for at most %d tokens. You can answer in its place:",
		printable.Line(a.server), params.MaxTokens)
	if params.SystemPrompt != "" {
		a.console.Printf("system:")
		a.printQuoted(params.SystemPrompt)
	}
	messages := params.Messages
	if n := len(messages) - maxShownMessages; n > 0 {
		a.console.Printf("(%s not shown)", command.Plural(n, "earlier message"))
		messages = messages[n:]
	}
	for _, m := range messages {
		a.console.Printf("%s:", printable.TruncateRunes(printable.Line(string(m.Role)), 40))
		var parts []string
		for _, block := range m.Content[:min(len(m.Content), maxShownMessages)] {
			parts = append(parts, describeContent(block))
		}
		a.printQuoted(strings.Join(parts, "\n"))
	}
	a.console.Printf("An empty line ends the answer; %s, or nothing, declines.", declineWord)
}

// describeContent returns the text of a block, or a description of other content.
func describeContent(block mcp.Content) string {
	switch b := block.(type) {
	case *mcp.TextContent:
		return b.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image %s %s]", b.MIMEType, command.Size(len(b.Data)))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio %s %s]", b.MIMEType, command.Size(len(b.Data)))
	}
	text, _ := mcp.Marshal(block) // it was decoded
	name, _ := jsonscan.Text(jsonscan.Member(text, "type"))
	return "[" + name + "]"
}

// askText reads lines up to an empty one. Without any, the error is errDeclined.
func (a *Asker) askText(ctx context.Context) (string, error) {
	var b strings.Builder
	for {
		line, err := a.ask(ctx, ">")
		if err != nil {
			return "", err
		}
		if line == "" {
			break
		}
		if b.Len()+len(line) > maxAnswer {
			return "", fmt.Errorf("the answer has more than %s", command.Size(maxAnswer))
		}
		b.WriteString(line + "\n")
	}
	if b.Len() == 0 {
		return "", errDeclined
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
