package shell

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CompletionPatience is how long Tab may take: nothing can be typed meanwhile.
const CompletionPatience = time.Second

// A candidate is a word that may stand in place of the one that is being typed.
type candidate struct {
	name string // of an argument, with = behind it; "" for any other word
	text string // the word, or the value of the argument
	open bool   // it goes on: there is no blank behind it
}

// typed is how a candidate is typed.
func (c candidate) typed() string {
	text := ""
	if c.name != "" {
		text = shellwords.Quote(c.name) + "="
	}
	if c.text != "" || !c.open {
		text += shellwords.Quote(c.text)
	}
	if !c.open {
		text += " "
	}
	return text
}

// complete returns what the word may become that ends at pos, and where it begins. It asks the server, if it has to, but does not start it.
func (s *Shell) complete(ctx context.Context, text string, pos int) (candidates []string, from int) {
	ctx, cancel := context.WithTimeout(ctx, CompletionPatience)
	defer cancel()
	words, from, ok := typedWords(text[:pos])
	if !ok {
		return nil, 0
	}
	for _, c := range s.candidates(ctx, words) {
		candidates = append(candidates, c.typed())
	}
	return candidates, from
}

// typedWords splits what stands before the cursor. The last word is the one that is being typed, and may be empty.
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
		return beginning(name, dotCommandNames())
	case len(rest) == 0:
		return s.completeTool(ctx, words)
	case strings.HasPrefix(name, "."):
		if c, ok := findDotCommand(name); ok && c.complete != nil && (c.most < 0 || len(rest) <= c.most) {
			return c.complete(s, ctx, rest)
		}
		return nil
	}
	for _, tool := range s.knownTools(ctx) {
		if tool.Name == name {
			return argumentCandidates(arguments.ShapeOf(tool.InputSchema), rest)
		}
	}
	return nil
}

// beginning are the candidates that go on from what is typed.
func beginning(typed string, all []string) (candidates []candidate) {
	for _, text := range all {
		if strings.HasPrefix(text, typed) {
			candidates = append(candidates, candidate{text: text})
		}
	}
	return candidates
}

// fixed completes one of a few words.
func fixed(words ...string) func(*Shell, context.Context, []string) []candidate {
	return func(_ *Shell, _ context.Context, typed []string) []candidate {
		return beginning(typed[len(typed)-1], words)
	}
}

// knownTools are the tools of the server, none if it is not there or takes too long. So are the other lists.
func (s *Shell) knownTools(ctx context.Context) []*mcp.Tool {
	if s.server == nil || s.server.gone() {
		return nil
	}
	tools, _ := s.server.allTools(ctx)
	return tools
}

func (s *Shell) completeTool(ctx context.Context, words []string) []candidate {
	var names []string
	for _, tool := range s.knownTools(ctx) {
		names = append(names, tool.Name)
	}
	return beginning(words[0], names)
}

func (s *Shell) completeHelp(ctx context.Context, words []string) []candidate {
	return append(s.completeTool(ctx, words), beginning(words[0], dotCommandNames())...)
}

// argumentCandidates completes the last of the words behind a tool's name: the name of an argument, or its value.
func argumentCandidates(s arguments.Shape, words []string) (candidates []candidate) {
	typed := words[len(words)-1]
	name, value, ok := strings.Cut(typed, "=")
	if ok {
		property, isJSON := strings.CutSuffix(name, ":")
		_, leaf := s.Path(property)
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

// nameCandidates are the names of arguments that are not given, or may be given again; those in an object when what is typed leads into it.
func nameCandidates(s arguments.Shape, prefix, typed string, given map[string]bool) (candidates []candidate) {
	for name, property := range distinctProperties(s) {
		full := prefix + name
		_, list := property.Items()
		inner := false
		for range distinctProperties(property) {
			inner = true
			break
		}
		switch {
		case inner && strings.HasPrefix(typed, full+"."):
			candidates = append(candidates, nameCandidates(property, full+".", typed, given)...)
		case !strings.HasPrefix(full, typed) || given[full] && !list:
		case inner:
			candidates = append(candidates, candidate{text: full + ".", open: true})
		default:
			candidates = append(candidates, candidate{name: full, open: true})
		}
	}
	return candidates
}

// distinctProperties yields the properties of an object, whichever alternative has them, each once.
func distinctProperties(s arguments.Shape) iter.Seq2[string, arguments.Shape] {
	return func(yield func(string, arguments.Shape) bool) {
		seen := map[string]bool{}
		for alternative := range s.Alternatives() {
			for name, property := range alternative.Properties() {
				if seen[name] {
					continue
				}
				if seen[name] = true; !yield(name, property) {
					return
				}
			}
		}
	}
}

// valueTexts are the values that there are, if they are few: those of enumerations, and of booleans; of the elements, for an array.
func valueTexts(s arguments.Shape, asJSON bool) (texts []string) {
	add := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for alternative := range s.Alternatives() {
		listed := false
		for value := range alternative.Values() {
			listed = true
			if text, ok := jsonscan.Unquote(value); ok && !asJSON {
				add(string(text))
			} else {
				add(string(value))
			}
		}
		if !listed && slices.Contains(alternative.Types(), "boolean") {
			add("true")
			add("false")
		}
	}
	if texts == nil && !asJSON {
		if items, ok := s.Items(); ok && items.At != nil {
			return valueTexts(items, false)
		}
	}
	return texts
}

// valueText is a keyword whose value is text.
func valueText(s arguments.Shape, name string) string {
	text, _ := jsonscan.Unquote(s.Keyword(name))
	return string(text)
}

// completeURI completes the URI of a resource, and the variable of a template that ends with one.
func (s *Shell) completeURI(ctx context.Context, words []string) []candidate {
	if s.server == nil || s.server.gone() || s.server.Capabilities().Resources == nil {
		return nil
	}
	typed := words[0]
	var uris []string
	resources, _ := s.server.allResources(ctx)
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	candidates := beginning(typed, uris)
	templates, _ := s.server.allTemplates(ctx)
	for _, t := range templates {
		literal, variable, ok := strings.Cut(t.URITemplate, "{")
		if ok && len(typed) < len(literal) && strings.HasPrefix(literal, typed) {
			candidates = append(candidates, candidate{text: literal, open: true})
			continue
		}
		name, after, _ := strings.Cut(variable, "}")
		if value, begun := strings.CutPrefix(typed, literal); ok && begun && after == "" && !strings.ContainsAny(name, "+#./;?&,*:{}") {
			for _, text := range s.ask(ctx, mcp.CompleteReference{Type: mcp.RefResource, URI: t.URITemplate}, name, value, nil) {
				candidates = append(candidates, candidate{text: literal + text})
			}
		}
	}
	return candidates
}

// completePrompt completes the name of a prompt, that of an argument, or its value.
func (s *Shell) completePrompt(ctx context.Context, words []string) (candidates []candidate) {
	if s.server == nil || s.server.gone() || s.server.Capabilities().Prompts == nil {
		return nil
	}
	prompts, _ := s.server.allPrompts(ctx)
	i := slices.IndexFunc(prompts, func(p *mcp.Prompt) bool { return p.Name == words[0] })
	if len(words) == 1 {
		var names []string
		for _, p := range prompts {
			names = append(names, p.Name)
		}
		return beginning(words[0], names)
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
		for _, text := range s.ask(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: words[0]}, name, value, settled) {
			candidates = append(candidates, candidate{name: name, text: text})
		}
		return candidates
	}
	for _, argument := range prompts[i].Arguments {
		if _, given := settled[argument.Name]; !given && strings.HasPrefix(argument.Name, last) {
			candidates = append(candidates, candidate{name: argument.Name, open: true})
		}
	}
	return candidates
}

// ask asks the server what a value may become, if it says that it knows.
func (s *Shell) ask(ctx context.Context, ref mcp.CompleteReference, argument, value string, settled map[string]string) []string {
	if s.server.Capabilities().Completions == nil {
		return nil
	}
	completion, err := s.server.Complete(ctx, ref, argument, value, settled, client.Timeout(CompletionPatience))
	if err != nil {
		return nil
	}
	return completion.Values
}
