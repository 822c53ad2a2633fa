package policy

import (
	"bytes"
	"slices"
	"sync"
)

// An Effect is what a rule does.
type Effect uint8

const (
	Allow Effect = iota
	Ask          // the user of the client decides
	Deny
	Hide // like Deny; the table says that nobody shall know of the item
)

var effects = [...]string{Allow: "allow", Ask: "ask", Deny: "deny", Hide: "hide"}

func (e Effect) String() string { return effects[e] }

// A Rule is a row of a table.
type Rule struct {
	Effect Effect
	Reason string // for those whose calls it refuses, or who are asked; may be ""
	Source string // where it is: FILE:LINE

	text      []byte // as in the file
	order     int
	who       *who
	unless    *exception
	what      *what
	arguments []*condition
}

// An exception is where a rule does not apply.
type exception struct {
	*who
	arguments []*condition
}

// A Policy is a table of rules, or several as one.
type Policy struct {
	rules  []*Rule
	allows bool      // what no rule grants
	within []*Policy // each has to permit a call as well
	cache  selections
}

// A selections caches the rules of items. The zero value is empty.
type selections struct {
	mu     sync.RWMutex
	byItem map[Item]*selection
}

// Merge returns the rules of all tables as one. The default is deny if it is in one of them.
func Merge(tables ...*Policy) *Policy {
	all := &Policy{allows: true}
	for _, t := range tables {
		all.allows = all.allows && t.allows
		for _, r := range t.rules {
			own := *r
			own.order = len(all.rules)
			all.rules = append(all.rules, &own)
		}
	}
	return all
}

// Rules returns the number of rules.
func (p *Policy) Rules() int { return len(p.rules) }

// Same reports whether two policies have the same rules in the same places.
func (p *Policy) Same(other *Policy) bool {
	return p == other || p != nil && other != nil && p.allows == other.allows &&
		slices.EqualFunc(p.within, other.within, (*Policy).Same) &&
		slices.EqualFunc(p.rules, other.rules, func(a, b *Rule) bool {
			return a.Source == b.Source && bytes.Equal(a.text, b.text)
		})
}

// A selection has the rules that may apply to an item: by what their callers must have, so that a
// decision looks at few of them.
type selection struct {
	bySubject, byGroup, byScope map[string]*bucket
	byClaim                     []claimIndex
	others                      bucket
	unknown                     bucket // for unknown callers
}

// A claimIndex has the rules of effect allow for callers in which a claim is a certain text.
type claimIndex struct {
	at     pointer
	byText map[string]*bucket
}

// A selected is a rule for an item that may match it.
type selected struct {
	*Rule
	matches outcomes
}

// of returns the rules for an item.
func (p *Policy) of(item Item) *selection {
	cache := &p.cache
	cache.mu.RLock()
	s := cache.byItem[item]
	cache.mu.RUnlock()
	if s != nil {
		return s
	}
	s = p.selectFor(&item)
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.byItem == nil || len(cache.byItem) >= maxSelections {
		cache.byItem = map[Item]*selection{}
	}
	cache.byItem[item] = s
	return s
}

func (p *Policy) selectFor(item *Item) *selection {
	s := &selection{bySubject: map[string]*bucket{}, byGroup: map[string]*bucket{},
		byScope: map[string]*bucket{}}
	for _, rule := range p.rules {
		r := &selected{rule, rule.what.holds(item)}
		if r.matches == isFalse {
			continue
		}
		w := rule.who
		if rule.Effect != Allow || w == nil || !w.isAboutIdentity() {
			s.unknown.add(r)
		}
		switch {
		case w == nil:
			s.others.add(r)
		case w.subjects != nil:
			index(s.bySubject, w.subjects, r)
		case w.groups != nil:
			index(s.byGroup, w.groups, r)
		case w.scopes != nil:
			index(s.byScope, w.scopes, r)
		case !s.indexClaim(r):
			s.others.add(r)
		}
	}
	return s
}

// indexClaim adds a rule to an index of a claim, if it grants something to callers in which a claim
// is a certain text only.
func (s *selection) indexClaim(r *selected) bool {
	if r.Effect != Allow || len(r.who.claims) == 0 {
		return false
	}
	c := r.who.claims[0]
	if len(c.tests) != 1 || c.standsIn.kind != 0 || c.tests[0].op != "eq" ||
		c.tests[0].claim != nil || c.tests[0].with[0].kind != '"' {
		return false
	}
	n := slices.IndexFunc(s.byClaim, func(i claimIndex) bool { return slices.Equal(i.at, c.at) })
	if n < 0 {
		if n = len(s.byClaim); n == maxClaimIndexes {
			return false
		}
		s.byClaim = append(s.byClaim, claimIndex{c.at, map[string]*bucket{}})
	}
	index(s.byClaim[n].byText, []string{c.tests[0].with[0].text}, r)
	return true
}

// maxClaimIndexes limits the claims that rules are indexed by, because each is looked up.
const maxClaimIndexes = 8

func index(by map[string]*bucket, names []string, r *selected) {
	for _, name := range names {
		if by[name] == nil {
			by[name] = new(bucket)
		}
		by[name].add(r)
	}
}

// A Decision is what the rules say.
type Decision struct {
	// Effect is Allow, Ask or Deny.
	Effect Effect
	// Certain says that no arguments could change it. If it is false and Effect is not Deny, an
	// item is shown, and its calls are decided by their arguments.
	Certain bool
	// Rule is the first that decides; nil: the default does.
	Rule *Rule
	// Pointer is that of the argument for which a call is denied, or "" if it is denied whatever
	// its arguments are.
	Pointer string
}

// Shows decides whether lists for a caller show an item: unless its calls are denied whatever their
// arguments are.
func (p *Policy) Shows(caller *Caller, item Item) Decision {
	return p.decide(caller, item, nil, false)
}

// Decide decides a call. The arguments are valid JSON, or nil for none.
func (p *Policy) Decide(caller *Caller, item Item, arguments []byte) Decision {
	return p.decide(caller, item, arguments, true)
}

func (p *Policy) decide(caller *Caller, item Item, arguments []byte, known bool) Decision {
	d := p.decideAlone(caller, item, arguments, known)
	for _, other := range p.within {
		d = stricter(d, other.decide(caller, item, arguments, known))
	}
	return d
}

func (p *Policy) decideAlone(caller *Caller, item Item, arguments []byte, known bool) Decision {
	e := evaluation{caller: caller, arguments: arguments, known: known}
	s := p.of(item)
	if !caller.Known {
		e.add(&s.unknown)
		return e.decision(p.allows)
	}
	e.add(&s.others)
	e.add(s.bySubject[caller.Subject])
	for _, group := range caller.Groups {
		e.add(s.byGroup[group])
	}
	for _, scope := range caller.Scopes {
		e.add(s.byScope[scope])
	}
	for i := range s.byClaim {
		if v := valueOf(caller.claim(s.byClaim[i].at)); v.kind == '"' {
			e.add(s.byClaim[i].byText[v.text])
		}
	}
	return e.decision(p.allows)
}

// An evaluation is the decision of one question as far as it is made.
type evaluation struct {
	caller    *Caller
	arguments []byte
	known     bool    // the arguments are those of a call
	values    []found // of the arguments so far

	denies, mayDeny  *Rule
	deniesCall       *Rule // because of the argument at pointer
	pointer          pointer
	asks, mayAsk     *Rule
	allows, mayAllow *Rule   // of effect ask, too
	misses           *Rule   // would grant it with another argument
	missed           pointer // of that argument
}

// first returns the rule that is first in the table.
func first(a, b *Rule) *Rule {
	if a == nil || b.order < a.order {
		return b
	}
	return a
}

// apply evaluates rules.
func (e *evaluation) apply(rules []*selected) {
	for _, r := range rules {
		applies := r.matches.and(r.who.holds(e.caller))
		if applies == isFalse {
			continue
		}
		with, at := e.hold(r.arguments)
		missed := at
		if with == isTrue {
			missed = nil
		}
		if r.unless != nil {
			except, exceptAt := e.hold(r.unless.arguments)
			who := r.unless.who.holds(e.caller)
			with = with.and(who.and(except).not())
			if exceptAt == nil {
				applies = applies.and(who.not())
			}
			if at == nil && who.mayHold() { // else it never excepts for certain
				at = exceptAt
			}
			if missed == nil && who != isFalse {
				missed = exceptAt
			}
		}
		with = with.and(applies)
		switch r.Effect {
		case Ask:
			if with.restricts() {
				e.asks = first(e.asks, r.Rule)
			} else if with.mayRestrict() {
				e.mayAsk = first(e.mayAsk, r.Rule)
			}
			fallthrough
		case Allow:
			e.grant(r.Rule, applies, with, missed)
		default:
			if with.restricts() && at == nil {
				e.denies = first(e.denies, r.Rule)
			} else if with.restricts() {
				if e.deniesCall = first(e.deniesCall, r.Rule); e.deniesCall == r.Rule {
					e.pointer = at
				}
			} else if with.mayRestrict() {
				e.mayDeny = first(e.mayDeny, r.Rule)
			}
		}
	}
}

// grant notes a rule that grants something to those to whom it applies, with these arguments.
func (e *evaluation) grant(r *Rule, applies, with outcomes, at pointer) {
	switch {
	case with == isTrue:
		e.allows = first(e.allows, r)
	case with.mayHold():
		e.mayAllow = first(e.mayAllow, r)
	case applies == isTrue && at != nil:
		if e.misses = first(e.misses, r); e.misses == r {
			e.missed = at
		}
	}
}

// hold evaluates conditions about arguments. at is the pointer of the first that does not hold, or
// else of the first; nil if there are no conditions.
func (e *evaluation) hold(conditions []*condition) (all outcomes, at pointer) {
	all = isTrue
	for _, c := range conditions {
		one := anything
		if e.known {
			one = c.holds(e.argument(c.at), e.caller)
		}
		if at == nil || all == isTrue && one != isTrue {
			at = c.at
		}
		all = all.and(one)
	}
	return all, at
}

// A found is the value of an argument.
type found struct {
	at pointer
	value
}

// argument returns the value of an argument, which is looked up once.
func (e *evaluation) argument(at pointer) *value {
	n := slices.IndexFunc(e.values, func(f found) bool { return slices.Equal(f.at, at) })
	if n < 0 {
		n = len(e.values)
		e.values = append(e.values, found{at, valueOf(at.in(e.arguments))})
	}
	return &e.values[n].value
}

// decision returns the decision. allows is the default.
func (e *evaluation) decision(allows bool) Decision {
	uncertain := e.mayDeny != nil
	granted := allows || e.allows != nil || e.mayAllow != nil
	switch {
	case e.denies != nil:
		return Decision{Deny, true, e.denies, ""}
	case !granted && e.misses == nil:
		return Decision{Deny, true, nil, ""}
	case e.deniesCall != nil:
		return Decision{Deny, true, e.deniesCall, e.pointer.String()}
	case !granted:
		return Decision{Deny, true, e.misses, e.missed.String()}
	case e.asks != nil:
		return Decision{Ask, !uncertain && (allows || e.allows != nil), e.asks, ""}
	case e.allows == nil && !allows:
		return Decision{Allow, false, e.mayAllow, ""}
	}
	return Decision{Allow, !uncertain && e.mayAsk == nil, e.allows, ""}
}
