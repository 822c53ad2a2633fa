package policy

import (
	"slices"
	"strings"
)

// A bucket has rules that are evaluated together. Of those that differ only in the text with which
// an argument is compared, a decision looks at the first, and at the first with the text of the
// call, so that a thousand of them cost no more than a few.
type bucket struct {
	rules   []*selected // the others
	indexes []*argumentIndex
	byKey   map[string]*argumentIndex
}

// An argumentIndex has the rules that apply to the same callers and have one condition, by the text
// that the argument at a pointer must be or begin with. Only the first with a text is there,
// because the others have the same outcome.
//
// For an argument that none of the texts matches, all of these rules have the same outcome: false,
// or unclear for one that is no text or is missing. So the first decides for all, as it does in
// lists, where arguments are unknown.
type argumentIndex struct {
	at      pointer
	first   []*selected            // one
	byText  map[string][]*selected // one each
	lengths []int                  // of the texts, if an argument must begin with one
}

// add adds a rule, whose order is higher than those of the others.
func (b *bucket) add(r *selected) {
	c := r.byText()
	if c == nil {
		b.rules = append(b.rules, r)
		return
	}
	t := &c.tests[0]
	op := t.op
	if op == "in" {
		op = "eq"
	}
	key := strings.Join([]string{r.Effect.String(), string(rune('0' + r.matches)), op,
		c.at.String(), r.who.String()}, "\n")
	x := b.byKey[key]
	if x == nil {
		x = &argumentIndex{at: c.at, first: []*selected{r}, byText: map[string][]*selected{}}
		if b.byKey == nil {
			b.byKey = map[string]*argumentIndex{}
		}
		b.byKey[key] = x
		b.indexes = append(b.indexes, x)
	}
	for i := range t.with {
		text := t.with[i].text
		if x.byText[text] == nil {
			x.byText[text] = []*selected{r}
		}
		if op == "prefix" && !slices.Contains(x.lengths, len(text)) {
			x.lengths = append(x.lengths, len(text))
		}
	}
}

// byText returns the only condition of the rule if that compares an argument with constant texts,
// or nil.
func (r *selected) byText() *condition {
	if r.unless != nil || len(r.arguments) != 1 {
		return nil
	}
	c := r.arguments[0]
	if len(c.tests) != 1 || c.standsIn.kind != 0 || c.tests[0].claim != nil ||
		!slices.Contains([]string{"eq", "in", "prefix"}, c.tests[0].op) {
		return nil
	}
	for i := range c.tests[0].with {
		if c.tests[0].with[i].kind != '"' {
			return nil
		}
	}
	return c
}

// add evaluates the rules of a bucket, which may be nil.
func (e *evaluation) add(b *bucket) {
	if b == nil {
		return
	}
	e.apply(b.rules)
	for _, x := range b.indexes {
		e.apply(x.first)
		if !e.known {
			continue
		}
		v := e.argument(x.at)
		switch {
		case v.kind != '"':
		case x.lengths == nil:
			e.apply(x.byText[v.text])
		default:
			for _, n := range x.lengths {
				if n <= len(v.text) {
					e.apply(x.byText[v.text[:n]])
				}
			}
		}
	}
}
