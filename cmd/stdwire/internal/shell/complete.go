package shell

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/skill"
)

// CompletionPatience is the time limit of a completion, during which nothing can be typed.
const CompletionPatience = time.Second

// A candidate is a word that completion offers.
type candidate struct {
	name       string // of an argument, which "=" follows; "" for any other word
	text       string // the word, or the value of the argument
	incomplete bool   // more follows: no blank is appended
}

// String returns the word as it is typed.
func (c candidate) String() string {
	text := ""
	if c.name != "" {
		text = shellwords.Quote(c.name) + "="
	}
	if c.text != "" || !c.incomplete {
		text += shellwords.Quote(c.text)
	}
	if !c.incomplete {
		text += " "
	}
	return text
}

// complete returns the candidates for the word that ends at pos, and where the word begins. It may
// ask the server but does not start it.
func (s *Shell) complete(ctx context.Context, text string, pos int) (candidates []string,
	from int) {
	ctx, cancel := context.WithTimeout(ctx, CompletionPatience)
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

func (s *Shell) candidates(ctx context.Context, words []string) []candidate {
	name, rest := words[0], words[1:]
	switch {
	case len(rest) == 0 && strings.HasPrefix(name, "."):
		return withPrefix(name, dotCommandNames())
	case len(rest) == 0:
		return s.completeTool(ctx, words)
	case strings.HasPrefix(name, "."):
		if c, ok := findDotCommand(name); ok && c.complete != nil &&
			(c.most < 0 || len(rest) <= c.most) {
			return c.complete(s, ctx, rest)
		}
		return nil
	}
	for _, tool := range s.cachedTools(ctx) {
		if tool.Name == name {
			return argumentCandidates(form.NewSchema(tool.InputSchema).Limited(), rest)
		}
	}
	return nil
}

// withPrefix returns the candidates that begin with the typed text.
func withPrefix(typed string, all []string) (candidates []candidate) {
	for _, text := range all {
		if strings.HasPrefix(text, typed) {
			candidates = append(candidates, candidate{text: text})
		}
	}
	return candidates
}

// completeWord returns a completion function for fixed words.
func completeWord(words ...string) func(*Shell, context.Context, []string) []candidate {
	return func(_ *Shell, _ context.Context, typed []string) []candidate {
		return withPrefix(typed[len(typed)-1], words)
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

func (s *Shell) completeTool(ctx context.Context, words []string) []candidate {
	var names []string
	for _, tool := range s.cachedTools(ctx) {
		names = append(names, tool.Name)
	}
	return withPrefix(words[0], names)
}

func (s *Shell) completeHelp(ctx context.Context, words []string) []candidate {
	return append(s.completeTool(ctx, words), withPrefix(words[0], dotCommandNames())...)
}

// argumentCandidates completes the last word after the name of a tool: the name of an argument or
// its value.
func argumentCandidates(s form.Schema, words []string) (candidates []candidate) {
	typed := words[len(words)-1]
	name, value, ok := strings.Cut(typed, "=")
	if ok {
		property, isJSON := strings.CutSuffix(name, ":")
		_, leaf := arguments.Path(s, property)
		for _, text := range valueTexts(leaf, isJSON) {
			if strings.HasPrefix(text, value) {
				candidates = append(candidates, candidate{name: name, text: text})
			}
		}
		return candidates
	}
	given := map[string]bool{}
	for _, word := range words[:len(words)-1] {
		name, _, _ := strings.Cut(word, "=")
		given[strings.TrimSuffix(name, ":")] = true
	}
	return nameCandidates(s, "", typed, given)
}

// nameCandidates returns the names of arguments that are not given or may be repeated, and of
// members if the typed name leads into an object.
func nameCandidates(s form.Schema, prefix, typed string,
	given map[string]bool) (candidates []candidate) {
	for _, property := range s.Fields() {
		full := prefix + property.Name
		inner := len(property.Schema.Fields()) > 0
		switch {
		case inner && strings.HasPrefix(typed, full+"."):
			candidates = append(candidates, nameCandidates(property.Schema, full+".", typed, given)...)
		case !strings.HasPrefix(full, typed) || given[full] && !property.Schema.Is("array"):
		case inner:
			candidates = append(candidates, candidate{text: full + ".", incomplete: true})
		default:
			candidates = append(candidates, candidate{name: full, incomplete: true})
		}
	}
	return candidates
}

// valueTexts returns the values of an enumeration or boolean; for an array, those of its elements.
func valueTexts(s form.Schema, asJSON bool) []string {
	texts := listedTexts(s, asJSON)
	if texts == nil && !asJSON && s.Is("array") {
		texts = listedTexts(s.Items(), false)
	}
	return texts
}

// listedTexts returns the values of an enumeration or boolean.
func listedTexts(s form.Schema, asJSON bool) (texts []string) {
	add := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, alternative := range s.Alternatives() {
		values := alternative.Values()
		for _, value := range values {
			if text, ok := jsonscan.Unquote(value); ok && !asJSON {
				add(string(text))
			} else {
				add(string(value))
			}
		}
		if values == nil && alternative.Is("boolean") {
			add("true")
			add("false")
		}
	}
	return texts
}

// completeURI completes the URI of a resource, or the variable at the end of a template.
func (s *Shell) completeURI(ctx context.Context, words []string) []candidate {
	if s.server == nil || s.server.isClosed() || s.server.Capabilities().Resources == nil {
		return nil
	}
	typed := words[0]
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
			candidates = append(candidates, candidate{text: literal, incomplete: true})
			continue
		}
		name, after, _ := strings.Cut(variable, "}")
		if value, begun := strings.CutPrefix(typed, literal); ok && begun && after == "" &&
			!strings.ContainsAny(name, "+#./;?&,*:{}") {
			for _, text := range s.ask(ctx,
				mcp.CompleteReference{Type: mcp.RefResource, URI: t.URITemplate}, name, value,
				nil) {
				candidates = append(candidates, candidate{text: literal + text})
			}
		}
	}
	return candidates
}

// completeSkill completes the name of a skill.
func (s *Shell) completeSkill(ctx context.Context, words []string) []candidate {
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
func (s *Shell) completePrompt(ctx context.Context, words []string) (candidates []candidate) {
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
	settled := map[string]string{}
	for _, word := range words[1 : len(words)-1] {
		if name, value, ok := strings.Cut(word, "="); ok {
			settled[name] = value
		}
	}
	last := words[len(words)-1]
	if name, value, ok := strings.Cut(last, "="); ok {
		for _, text := range s.ask(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: words[0]},
			name, value, settled) {
			candidates = append(candidates, candidate{name: name, text: text})
		}
		return candidates
	}
	for _, argument := range prompts[i].Arguments {
		if _, given := settled[argument.Name]; !given && strings.HasPrefix(argument.Name, last) {
			candidates = append(candidates, candidate{name: argument.Name, incomplete: true})
		}
	}
	return candidates
}

// ask asks the server to complete a value, if it declares completions.
func (s *Shell) ask(ctx context.Context, ref mcp.CompleteReference, argument, value string,
	settled map[string]string) []string {
	if s.server.Capabilities().Completions == nil {
		return nil
	}
	completion, err := s.server.Complete(ctx, ref, argument, value, settled,
		client.Timeout(CompletionPatience))
	if err != nil {
		return nil
	}
	return completion.Values
}
