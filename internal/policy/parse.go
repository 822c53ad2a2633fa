package policy

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
)

// Parse reads a table from a value of a file. The error names all problems, up to a limit, each
// with FILE:LINE:COLUMN; none quotes a value.
func Parse(table jsonedit.Value) (*Policy, error) {
	p := &parser{pointers: map[string]bool{}}
	all := p.table(table)
	if p.problems != nil {
		return nil, errors.Join(p.problems...)
	}
	return Merge(all), nil
}

// ParseFile reads a file that is a table: JSON with comments and trailing commas.
func ParseFile(name string, content []byte) (*Policy, error) {
	text, err := jsonedit.ParseJSON(name, content)
	if err != nil {
		return nil, err
	}
	root, ok := text.Root()
	if !ok {
		return nil, text.Errorf(0, `the file is empty; a table of rules is {"rules":[…]}`)
	}
	return Parse(root)
}

// A parser collects the problems of a table.
type parser struct {
	problems []error
	pointers map[string]bool // of arguments
}

func (p *parser) errorf(at jsonedit.Value, format string, args ...any) {
	if len(p.problems) < maxErrors {
		p.problems = append(p.problems, at.Errorf(at.Start, format, args...))
	}
}

// A readers has the functions that read the members of an object.
type readers map[string]func(jsonedit.Value)

// object reads the members of an object. where names it, for errors.
func (p *parser) object(v jsonedit.Value, where string, read readers) {
	if !v.IsObject() {
		p.errorf(v, "%s must be an object, and is %s", where, v.TypeName())
		return
	}
	seen := map[string]bool{}
	for _, m := range v.Members() {
		at := m.Value
		at.Start = m.Offset
		f := read[m.Name]
		switch {
		case seen[m.Name]:
			p.errorf(at, "%s has %.60q twice; remove one of them", where, m.Name)
		case f == nil:
			names := make([]string, 0, len(read))
			for name := range read {
				names = append(names, name)
			}
			slices.Sort(names)
			p.errorf(at, "%s has no member %.60q: %swant one of %s", where, m.Name,
				didYouMean(m.Name, names), strings.Join(names, ", "))
		default:
			f(m.Value)
		}
		seen[m.Name] = true
	}
}

func (p *parser) table(v jsonedit.Value) *Policy {
	all := new(Policy)
	var rules jsonedit.Value
	p.object(v, "a policy", readers{
		"default": func(v jsonedit.Value) {
			all.allows = p.word(v, "default", []string{"deny", "allow"}) == 1
		},
		"rules": func(v jsonedit.Value) { rules = v },
	})
	switch {
	case p.problems != nil:
	case rules.Text == nil:
		p.errorf(v, `a policy needs rules, at least "rules":[]`)
	case !rules.IsArray():
		p.errorf(rules, "rules must be an array, and is %s", rules.TypeName())
	default:
		elements := rules.Elements()
		if len(elements) > MaxRules {
			p.errorf(elements[MaxRules], "there are more than %d rules", MaxRules)
			return all
		}
		lines := lineCounter{of: v.Text}
		for _, e := range elements {
			all.rules = append(all.rules, p.rule(e, lines.source(e)))
		}
	}
	return all
}

// A lineCounter returns the lines of values in order without counting from the beginning each time.
type lineCounter struct {
	of       *jsonedit.Text
	at, line int
}

func (l *lineCounter) source(v jsonedit.Value) string {
	if l.of.TOML != nil {
		line, _ := v.Position(v.Start)
		return l.of.Name + ":" + strconv.Itoa(line)
	}
	l.line += bytes.Count(l.of.Data[l.at:v.Start], []byte("\n"))
	l.at = v.Start
	return l.of.Name + ":" + strconv.Itoa(l.line+1)
}

func (p *parser) rule(v jsonedit.Value, source string) *Rule {
	r := &Rule{Source: source, text: v.JSON()}
	hasEffect := false
	p.object(v, "a rule", readers{
		"effect": func(v jsonedit.Value) {
			hasEffect = true
			r.Effect = Effect(max(p.word(v, "effect", effects[:]), 0))
		},
		"who": func(v jsonedit.Value) {
			w := &who{text: string(v.JSON())}
			p.object(v, "who", p.who(w))
			r.who = w
		},
		"unless": func(v jsonedit.Value) {
			r.unless = &exception{who: new(who)}
			read := p.who(r.unless.who)
			read["arguments"] = func(v jsonedit.Value) { r.unless.arguments = p.arguments(v) }
			p.object(v, "unless", read)
			if len(v.Members()) == 0 {
				p.errorf(v, "unless is empty, so that the rule would never apply")
			}
		},
		"what":      func(v jsonedit.Value) { r.what = p.what(v) },
		"arguments": func(v jsonedit.Value) { r.arguments = p.arguments(v) },
		"reason":    func(v jsonedit.Value) { r.Reason = p.text(v, "reason") },
	})
	aboutArguments := r.arguments != nil || r.unless != nil && r.unless.arguments != nil
	switch {
	case !v.IsObject():
	case !hasEffect:
		p.errorf(v, "a rule needs an effect: %s", strings.Join(effects[:], ", "))
	case r.Effect == Hide && aboutArguments:
		p.errorf(v, "a rule that hides cannot have arguments, because lists have none; deny calls with them instead")
	}
	return r
}

func (p *parser) who(w *who) readers {
	list := func(to *[]string, name string) func(jsonedit.Value) {
		return func(v jsonedit.Value) { *to = p.texts(v, name) }
	}
	return readers{
		"issuer": list(&w.issuers, "issuer"), "subject": list(&w.subjects, "subject"),
		"group": list(&w.groups, "group"), "scope": list(&w.scopes, "scope"),
		"client": list(&w.clients, "client"), "profile": list(&w.profiles, "profile"),
		"claims": func(v jsonedit.Value) {
			w.claims = p.conditions(v, "claims", p.claimPath)
			if w.claims == nil {
				p.errorf(v, "claims is empty")
			}
		},
	}
}

// riskNames has the values of kind. The last is for open worlds.
var riskNames = [...]string{Read: "read", Write: "write", Destructive: "destructive",
	Destructive + 1: "open-world"}

func (p *parser) what(v jsonedit.Value) *what {
	w := new(what)
	list := func(to *[]string, name string) func(jsonedit.Value) {
		return func(v jsonedit.Value) { *to = p.texts(v, name) }
	}
	p.object(v, "what", readers{
		"server": list(&w.servers, "server"), "tool": list(&w.tools, "tool"),
		"prompt": list(&w.prompts, "prompt"), "resource": list(&w.resources, "resource"),
		"kind": func(v jsonedit.Value) {
			all := []jsonedit.Value{v}
			if v.IsArray() {
				all = v.Elements()
			}
			if len(all) == 0 {
				p.errorf(v, "kind is empty")
			}
			for _, one := range all {
				switch n := p.word(one, "kind", riskNames[:]); {
				case n > int(Destructive):
					w.open = true
				case n >= 0:
					w.risks = append(w.risks, Risk(n))
				}
			}
		},
	})
	return w
}

func (p *parser) arguments(v jsonedit.Value) []*condition {
	all := p.conditions(v, "arguments", p.argumentPath)
	if all == nil {
		p.errorf(v, "arguments is empty")
	}
	return all
}

// conditions reads an object of conditions by their paths.
func (p *parser) conditions(v jsonedit.Value, where string,
	path func(at jsonedit.Value, text string) pointer) (all []*condition) {
	if !v.IsObject() {
		p.errorf(v, "%s must be an object, and is %s", where, v.TypeName())
		return []*condition{}
	}
	seen := map[string]bool{}
	for _, m := range v.Members() {
		at := m.Value
		at.Start = m.Offset
		switch {
		case len(all) == maxList:
			p.errorf(at, "%s has more than %d members", where, maxList)
			return all
		case seen[m.Name]:
			p.errorf(at, "%s has %.60q twice; remove one of them", where, m.Name)
		}
		seen[m.Name] = true
		c := &condition{at: path(at, m.Name)}
		p.tests(m.Value, c)
		all = append(all, c)
	}
	return all
}

// argumentPath reads the JSON Pointer of an argument.
func (p *parser) argumentPath(at jsonedit.Value, text string) pointer {
	if p.pointers[text] = true; len(p.pointers) > maxPointers {
		p.errorf(at, "there are more than %d different pointers of arguments", maxPointers)
		return pointer{""}
	}
	if !strings.HasPrefix(text, "/") {
		p.errorf(at, "%.60q is not a JSON Pointer of an argument%s", text,
			": write /"+jsonscan.EscapePointer(text))
		return pointer{""}
	}
	return p.pointer(at, text)
}

// claimPath reads the name of a claim, or the JSON Pointer of a value in one.
func (p *parser) claimPath(at jsonedit.Value, text string) pointer {
	switch {
	case text == "":
		p.errorf(at, "the name of a claim is empty")
	case strings.HasPrefix(text, "/"):
		return p.pointer(at, text)
	case len(text) > maxText:
		p.errorf(at, "the name of a claim has more than %d bytes", maxText)
	}
	return pointer{text}
}

func (p *parser) pointer(at jsonedit.Value, text string) pointer {
	tokens := strings.Split(text[1:], "/")
	if len(text) > maxText || len(tokens) > maxDepth {
		p.errorf(at, "a JSON Pointer may have %d bytes and %d tokens", maxText, maxDepth)
		return pointer{""}
	}
	for i, token := range tokens {
		plain := strings.ReplaceAll(strings.ReplaceAll(token, "~0", ""), "~1", "")
		if strings.Contains(plain, "~") {
			p.errorf(at, `%.60q is not a JSON Pointer: "~" is written ~0, and "/" in a name ~1`, text)
		}
		tokens[i] = jsonscan.UnescapePointer(token)
	}
	return tokens
}

// tests reads the tests of a condition.
func (p *parser) tests(v jsonedit.Value, c *condition) {
	read := readers{"default": func(v jsonedit.Value) {
		if p.isScalar(v, "default") {
			c.standsIn = valueOf(v.JSON())
		}
	}}
	for name, compare := range comparisons {
		read[name] = func(v jsonedit.Value) {
			t := test{op: name, compare: compare, any: name == "in"}
			if p.value(v, name, &t) {
				c.tests = append(c.tests, t)
			}
		}
	}
	before := len(p.problems)
	p.object(v, "a condition", read)
	if len(c.tests) == 0 && len(p.problems) == before {
		p.errorf(v, `a condition compares with nothing: write, for example, {"eq":"value"}`)
	}
}

// value reads what a test compares with, and reports whether it can be.
func (p *parser) value(v jsonedit.Value, name string, t *test) bool {
	if v.IsObject() {
		p.object(v, "the value of "+name, readers{"claim": func(v jsonedit.Value) {
			if path, ok := v.AsString(); !ok {
				p.errorf(v, "claim must be text, and is %s", v.TypeName())
			} else {
				t.claim = p.claimPath(v, path)
			}
		}})
		if t.claim == nil {
			p.errorf(v, `the value of %s must be a constant or {"claim":"NAME"}`, name)
		}
		return t.claim != nil
	}
	t.with = []value{valueOf(v.JSON())}
	switch name {
	case "in":
		elements := v.Elements()
		if len(elements) == 0 || len(elements) > maxList {
			p.errorf(v, `in must be an array of 1 to %d values, or {"claim":"NAME"}`, maxList)
			return false
		}
		t.with = nil
		for _, e := range elements {
			if !p.isScalar(e, "in") {
				return false
			}
			t.with = append(t.with, valueOf(e.JSON()))
		}
		return true
	case "prefix", "glob":
		if text, ok := v.AsString(); !ok || text == "" || climbs(text) {
			p.errorf(v, `%s must be a text that is not empty and has no segment ".."`, name)
			return false
		}
	case "lt", "le", "gt", "ge":
		if t.with[0].kind != '0' {
			p.errorf(v, `%s must be a number or {"claim":"NAME"}, and is %s`, name, v.TypeName())
			return false
		}
	}
	return p.isScalar(v, name)
}

// isScalar reports whether a value is text, a number, a boolean or null, of a permitted length.
func (p *parser) isScalar(v jsonedit.Value, name string) bool {
	switch {
	case v.IsArray() || v.IsObject():
		p.errorf(v, "a value of %s must be text, a number, true, false or null, and is %s", name,
			v.TypeName())
		return false
	case v.End-v.Start > maxText:
		p.errorf(v, "a value of %s has more than %d bytes", name, maxText)
		return false
	}
	return true
}

// word reads one of some words, and returns its index or -1.
func (p *parser) word(v jsonedit.Value, name string, words []string) int {
	text, ok := v.AsString()
	n := slices.Index(words, text)
	if !ok {
		p.errorf(v, "%s must be text, and is %s", name, v.TypeName())
	} else if n < 0 {
		p.errorf(v, "%s cannot be %.60q: %swant one of %s", name, text,
			didYouMean(text, words), strings.Join(words, ", "))
	}
	return n
}

// didYouMean returns the hint of package near with a semicolon, or "".
func didYouMean(word string, words []string) string {
	if hint := near.DidYouMean(word, words); hint != "" {
		return hint + "; "
	}
	return ""
}

func (p *parser) text(v jsonedit.Value, name string) string {
	text, ok := v.AsString()
	switch {
	case !ok:
		p.errorf(v, "%s must be text, and is %s", name, v.TypeName())
	case text == "":
		p.errorf(v, "%s is empty", name)
	case len(text) > maxText:
		p.errorf(v, "%s has more than %d bytes", name, maxText)
	}
	return text
}

// texts reads a text or an array of texts.
func (p *parser) texts(v jsonedit.Value, name string) (all []string) {
	if !v.IsArray() {
		return []string{p.text(v, name)}
	}
	elements := v.Elements()
	if len(elements) == 0 || len(elements) > maxList {
		p.errorf(v, "%s must have 1 to %d values", name, maxList)
		return []string{}
	}
	for _, e := range elements {
		all = append(all, p.text(e, "a value of "+name))
	}
	return all
}
