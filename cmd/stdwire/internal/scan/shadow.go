package scan

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// A mention is a server or tool that a word may stand for.
type mention struct {
	server *scannedServer
	tool   *definition // nil for the server itself
}

func (m mention) String() string {
	if m.tool == nil {
		return fmt.Sprintf("another server, %q", m.server.ID)
	}
	return fmt.Sprintf("the tool %q of another server, %q", m.tool.name, m.server.ID)
}

// mentionIndex maps words, in lower case, to the servers and tools that they may stand for. It is
// empty if there is only one server.
func mentionIndex(servers []*scannedServer) map[string][]mention {
	index := map[string][]mention{}
	if len(servers) < 2 {
		return index
	}
	const limit = 8 // meanings of a word
	add := func(word string, m mention) {
		if word = strings.ToLower(word); len(index[word]) < limit {
			index[word] = append(index[word], m)
		}
	}
	for _, s := range servers {
		add(s.ID, mention{server: s})
		for _, d := range s.definitions {
			if !d.tool() {
				continue
			}
			m := mention{s, d}
			add(d.name, m)
			for _, form := range []string{"%s__%s", "mcp__%s__%s", "%s.%s", "%s_%s", "mcp_%s_%s"} {
				add(fmt.Sprintf(form, s.ID, d.name), m)
			}
		}
	}
	return index
}

// A token is a word of a text that may mention a server or tool.
type token struct {
	start, end int
	sentence   [2]int // its start and end
	mentions   []mention
}

// shadowing finds texts about the tools of other servers.
func shadowing(sc *scanner, d *definition, t *text) (f Finding, found bool) {
	if len(sc.mentionIndex) == 0 || !t.isProse() {
		return f, false
	}
	tokens := sc.tokens(d, t.plain)
	index := textIndex{s: t.plain, first: map[sentenceKey]int{}, last: map[sentenceKey]int{},
		directed: map[int]bool{}}
	for i := range tokens {
		for _, m := range tokens[i].mentions {
			key := sentenceKey{tokens[i].sentence[0], m.server, m.tool != nil}
			if _, seen := index.first[key]; !seen {
				index.first[key] = tokens[i].start
			}
			index.last[key] = tokens[i].start
		}
	}
	for i := range tokens {
		for _, m := range tokens[i].mentions {
			severity := index.severityOf(&tokens[i], m)
			if severity < Low || found && severity <= f.Severity {
				continue
			}
			f = Finding{Severity: severity,
				What:     "the text is about " + m.String(),
				Evidence: excerpt(t.plain, tokens[i].start, tokens[i].end)}
			f.Related = []Place{{Server: m.server.ID, Kind: kindServer}}
			if m.tool != nil {
				f.Related[0] = m.tool.place("")
			}
			found = true
		}
	}
	return f, found
}

// tokens returns the words of a text that may mention another server and are not names of the
// definition's own server.
func (sc *scanner) tokens(d *definition, s string) (tokens []token) {
	sentence := [2]int{0, sentenceEnd(s, 0)}
	for at := 0; at < len(s); {
		start := strings.IndexFunc(s[at:], inWord)
		if start < 0 {
			break
		}
		start += at
		end := len(s)
		if n := strings.IndexFunc(s[start:], func(r rune) bool { return !inWord(r) }); n >= 0 {
			end = start + n
		}
		at = end
		for start >= sentence[1] && sentence[1] < len(s) {
			sentence = [2]int{sentence[1], sentenceEnd(s, sentence[1])}
		}
		word := strings.TrimRight(s[start:end], ".-_")
		if word == "" {
			continue
		}
		mentions := sc.mentionIndex[strings.ToLower(word)]
		own := d.arguments[strings.ToLower(word)]
		for _, m := range mentions {
			own = own || m.server == d.server
		}
		if len(mentions) > 0 && !own {
			tokens = append(tokens, token{start, start + len(word), sentence, mentions})
		}
	}
	return tokens
}

func inWord(r rune) bool {
	return r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// sentenceEnd returns the end of the sentence that starts at i.
func sentenceEnd(s string, i int) int {
	if m := sentencePattern().FindStringIndex(s[i:]); m != nil {
		return i + m[1]
	}
	return len(s)
}

var sentencePattern = lazyregexp.New(`[.!?]\s|\n\s*\n`)

// textIndex caches properties of a text and its sentences.
type textIndex struct {
	s           string
	first, last map[sentenceKey]int // positions of the first and last mention
	directed    map[int]bool        // by the start of the sentence
}

// A sentenceKey is a server, or its tools, in a sentence.
type sentenceKey struct {
	sentence int
	server   *scannedServer
	tools    bool
}

// severityOf rates a mention. A word that is also an English word counts only if it is marked as a
// name.
func (r *textIndex) severityOf(tok *token, m mention) Severity {
	word := r.s[tok.start:tok.end]
	other := sentenceKey{tok.sentence[0], m.server, m.tool == nil}
	first, mentioned := r.first[other]
	// two words mention the server and its tool
	bothMentioned := mentioned && (first != tok.start || r.last[other] != tok.start)
	what := serverWord
	if m.tool != nil {
		what = toolWord
	}
	quoted, certain := isQuoted(r.s, tok.start, tok.end), bothMentioned || isDistinctive(word) ||
		isFollowedBy(r.s, tok.end, what)
	common := common()[strings.ToLower(word)] || len(word) < 4
	switch {
	case !certain && !quoted && common:
		return Info
	case !certain && (!quoted || common && !r.isDirective(tok.sentence)):
		return Low
	case !certain && common: // in quotes, it may name something else
		return Medium
	case r.isDirective(tok.sentence):
		return High
	case m.tool == nil && !quoted && !bothMentioned && !isFollowedBy(r.s, tok.end, what):
		return Low
	}
	return Medium
}

// isDirective reports whether a sentence gives instructions.
func (r *textIndex) isDirective(sentence [2]int) bool {
	directed, known := r.directed[sentence[0]]
	if !known {
		directed = directive().MatchString(r.s[sentence[0]:sentence[1]])
		r.directed[sentence[0]] = directed
	}
	return directed
}

// isDistinctive reports whether a word has the form of an identifier.
func isDistinctive(word string) bool {
	inner := false
	for i, r := range word {
		inner = inner || i > 0 && (unicode.IsUpper(r) && !unicode.IsUpper(rune(word[0]))) ||
			r == '_' || unicode.IsDigit(r) || i > 0 && (r == '-' || r == '.')
	}
	return inner
}

// isQuoted reports whether a word is in quotes or backticks.
func isQuoted(s string, start, end int) bool {
	const marks = "`'\"“”‘«»*"
	before, after := strings.TrimSuffix(s[:start], "/"), s[end:]
	r := []rune(before[max(0, len(before)-4):])
	return len(r) > 0 && strings.ContainsRune(marks, r[len(r)-1]) && after != "" &&
		(strings.ContainsRune(marks, []rune(after[:min(4, len(after))])[0]) || after[0] == '(')
}

// isFollowedBy reports whether a word is followed by a match of what, such as "server".
func isFollowedBy(s string, end int, what func() *regexp.Regexp) bool {
	return what().MatchString(s[end:min(len(s), end+30)])
}

var (
	serverWord = lazyregexp.New(`(?i)^['"` + "`" +
		`]?(?:'s)?\s+(?:mcp\s+)?(?:server|mcp|tools?|functions?)\b|^__|^/[a-z_]+\b`)
	toolWord  = lazyregexp.New(`(?i)^['"` + "`" + `]?\s+(?:tool|function)\b|^\(\)`)
	directive = lazyregexp.New(
		`(?i)\b(?:instead|before|after|whenever|always|never|must|do\s+not|don't|rather\s+than|override|replaces?|ignore|when(?:\s+\S+){0,6}\s+(?:called|used|invoked|available|present)|prefer|first|avoid|deprecated|broken|unsafe)\b`)
)

// common contains English words that are also names of servers and tools.
var common = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(
		`add agent analyze api app apps ask assistant audio base browser build cache calculate calculator calendar call chat check choose clear click clock
		close cloud code command commands compare compile config connect console context convert copy count create cursor data database date debug default
		delete describe design desktop diff docs document documents download drag drive echo edit editor email emulate everything exec execute explain export
		fetch figma file files filesystem fill filter find folder format generate get git github gitlab google graph graphics grep help history hover image
		images import index info input insert inspect issue issues jira json key lint linear linter list load local log logs mail manage maps memory merge
		message messages mobile modify monitor move music navigate network news note notes notify notion office open output page pages parse pdf photo photos
		ping plan play postgres print process project projects prompt proxy pull push python query read refresh remote remove rename replace report request
		research reset resize resolve resource resources restart result results review root roots route run sample save schedule scan screen screenshot script
		search secret select send sequence server service set shell show slack snapshot sort sound source space speech split sql sqlite stage start stat state
		status stop storage store summarize summary switch sync system table task tasks template terminal test tests text think thinking time timer toggle
		token tool tools trace transform translate trash tree trigger type undo update upload url validate video view voice wait watch weather web website
		wiki window windows word workflow workspace write youtube`) {
		m[word] = true
	}
	return m
})
