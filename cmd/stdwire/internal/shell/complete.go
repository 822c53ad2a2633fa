package shell

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CompletionTimeout is the time limit of a completion, during which nothing can be typed.
const CompletionTimeout = time.Second

// complete returns the candidates for the word that ends at pos, and where the word begins. It may
// ask the server but does not start it.
func (s *Shell) complete(ctx context.Context, text string, pos int) (candidates []string,
	from int) {
	ctx, cancel := context.WithTimeout(ctx, CompletionTimeout)
	defer cancel()
	words, from, ok := typedWords(text[:pos])
	if !ok {
		return nil, 0
	}
	for _, c := range s.candidates(ctx, words) {
		candidates = append(candidates, c.String())
	}
	return candidates, from
}

// typedWords splits the text before the cursor. The last word is the one being typed, and may be
// empty.
func typedWords(text string) (words []string, from int, ok bool) {
	if _, rest := cutFirstWord(text); strings.HasPrefix(rest, "{") {
		return nil, 0, false
	}
	var s shellwords.Splitter
	for i := range len(text) {
		s.Add(text[i])
	}
	inWord := s.InWord()
	if s.InComment() || s.Open() == '\\' {
		return nil, 0, false
	}
	from = len(text)
	for _, word := range s.Words() {
		words = append(words, word.Text)
		if inWord {
			from = word.Start
		}
	}
	if !inWord {
		words, from = append(words, ""), len(text)
	}
	return words, from, true
}

func (s *Shell) candidates(ctx context.Context, words []string) []arguments.Candidate {
	name, rest := words[0], words[1:]
	switch {
	case len(rest) == 0 && strings.HasPrefix(name, "."):
		return withPrefix(name, dotCommandNames())
	case len(rest) == 0:
		return s.completeTool(ctx, words)
	case strings.HasPrefix(name, "."):
		if c, ok := findDotCommand(name); ok && c.complete != nil &&
			(c.maxArgs < 0 || len(rest) <= c.maxArgs) {
			return c.complete(s, ctx, rest)
		}
		return nil
	}
	for _, tool := range s.cachedTools(ctx) {
		if tool.Name == name {
			return arguments.Complete(form.NewSchema(tool.InputSchema).Limited(), rest)
		}
	}
	return nil
}

// withPrefix returns the candidates that begin with the typed text.
func withPrefix(typed string, all []string) (candidates []arguments.Candidate) {
	for _, text := range all {
		if strings.HasPrefix(text, typed) {
			candidates = append(candidates, arguments.Candidate{Text: text})
		}
	}
	return candidates
}

// completeWord returns a completion function for fixed words.
func completeWord(words ...string) func(*Shell, context.Context, []string) []arguments.Candidate {
	return func(_ *Shell, _ context.Context, typed []string) []arguments.Candidate {
		return withPrefix(typed[len(typed)-1], words)
	}
}

// completeFirst is completeWord for the first word only.
func completeFirst(words ...string) func(*Shell, context.Context, []string) []arguments.Candidate {
	return func(_ *Shell, _ context.Context, typed []string) []arguments.Candidate {
		if len(typed) > 1 {
			return nil
		}
		return withPrefix(typed[0], words)
	}
}

// cachedTools returns the tools of the server, or none if it is not connected or takes too long.
func (s *Shell) cachedTools(ctx context.Context) []*mcp.Tool {
	if s.server == nil || s.server.isClosed() {
		return nil
	}
	tools, _ := s.server.allTools(ctx)
	return tools
}

func (s *Shell) completeTool(ctx context.Context, words []string) []arguments.Candidate {
	var names []string
	for _, tool := range s.cachedTools(ctx) {
		names = append(names, tool.Name)
	}
	return withPrefix(words[0], names)
}

func (s *Shell) completeHelp(ctx context.Context, words []string) []arguments.Candidate {
	return append(s.completeTool(ctx, words), withPrefix(words[0], dotCommandNames())...)
}

// completeURI completes the URI of a resource, or the variable at the end of a template.
func (s *Shell) completeURI(ctx context.Context, words []string) []arguments.Candidate {
	if s.server == nil || s.server.isClosed() || s.server.Capabilities().Resources == nil {
		return nil
	}
	typed := words[len(words)-1]
	var uris []string
	resources, _ := s.server.allResources(ctx)
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	candidates := withPrefix(typed, uris)
	templates, _ := s.server.allTemplates(ctx)
	for _, t := range templates {
		literal, variable, ok := strings.Cut(t.URITemplate, "{")
		if ok && len(typed) < len(literal) && strings.HasPrefix(literal, typed) {
			candidates = append(candidates,
				arguments.Candidate{Text: literal, Incomplete: true})
			continue
		}
		name, after, _ := strings.Cut(variable, "}")
		if value, begun := strings.CutPrefix(typed, literal); ok && begun && after == "" &&
			!strings.ContainsAny(name, "+#./;?&,*:{}") {
			for _, text := range s.ask(ctx,
				mcp.CompleteReference{Type: mcp.RefResource, URI: t.URITemplate}, name, value,
				nil) {
				candidates = append(candidates, arguments.Candidate{Text: literal + text})
			}
		}
	}
	return candidates
}

// completeSkill completes the name of a skill.
func (s *Shell) completeSkill(ctx context.Context, words []string) []arguments.Candidate {
	if len(words) > 1 || s.server == nil || s.server.isClosed() {
		return nil
	}
	var names []string
	for entry, err := range s.server.Skills(ctx) {
		if err != nil {
			break
		}
		names = append(names, skill.Name(entry.URI))
	}
	return withPrefix(words[0], names)
}

// completePrompt completes the name of a prompt, of an argument, or its value.
func (s *Shell) completePrompt(ctx context.Context,
	words []string) (candidates []arguments.Candidate) {
	if s.server == nil || s.server.isClosed() || s.server.Capabilities().Prompts == nil {
		return nil
	}
	prompts, _ := s.server.allPrompts(ctx)
	i := slices.IndexFunc(prompts, func(p *mcp.Prompt) bool { return p.Name == words[0] })
	if len(words) == 1 {
		var names []string
		for _, p := range prompts {
			names = append(names, p.Name)
		}
		return withPrefix(words[0], names)
	}
	if i < 0 {
		return nil
	}
	earlier := map[string]string{}
	for _, word := range words[1 : len(words)-1] {
		if name, value, ok := strings.Cut(word, "="); ok {
			earlier[name] = value
		}
	}
	last := words[len(words)-1]
	if name, value, ok := strings.Cut(last, "="); ok {
		for _, text := range s.ask(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: words[0]},
			name, value, earlier) {
			candidates = append(candidates, arguments.Candidate{Name: name, Text: text})
		}
		return candidates
	}
	for _, argument := range prompts[i].Arguments {
		if _, given := earlier[argument.Name]; !given && strings.HasPrefix(argument.Name, last) {
			candidates = append(candidates,
				arguments.Candidate{Name: argument.Name, Incomplete: true})
		}
	}
	return candidates
}

// ask asks the server to complete a value, if it declares completions.
func (s *Shell) ask(ctx context.Context, ref mcp.CompleteReference, argument, value string,
	earlier map[string]string) []string {
	if s.server.Capabilities().Completions == nil {
		return nil
	}
	completion, err := s.server.Complete(ctx, ref, argument, value, earlier,
		client.Timeout(CompletionTimeout))
	if err != nil {
		return nil
	}
	return completion.Values
}
