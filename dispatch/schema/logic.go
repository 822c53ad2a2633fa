package schema

import (
	"fmt"
	"slices"
	"strings"
)

// logicRules are the keywords that apply subschemas to the same instance ("in place").
type logicRules struct {
	ref *subschema
	// the initially resolved target of $dynamicRef
	dynamicRef                 *subschema
	dynamicName                string // its $dynamicAnchor; "" if $dynamicRef behaves like $ref
	allOf, anyOf, oneOf        []*subschema
	not                        *subschema
	condition, then, otherwise *subschema
}

func (s *subschema) logicRules() *logicRules {
	if s.logic == nil {
		s.logic = &logicRules{}
	}
	return s.logic
}

// subschemas yields all of them except the target of a $dynamicRef, which depends on the dynamic
// scope. It reports whether yield returned true for all.
func (l *logicRules) subschemas(yield func(*subschema) bool) bool {
	for _, s := range []*subschema{l.ref, l.not, l.condition, l.then, l.otherwise} {
		if s != nil && !yield(s) {
			return false
		}
	}
	for _, list := range [][]*subschema{l.allOf, l.anyOf, l.oneOf} {
		for _, s := range list {
			if !yield(s) {
				return false
			}
		}
	}
	return true
}

func compileRef(c *compiler, s *subschema, at uint32) error {
	target, _, err := c.compileReference(s, at)
	s.logicRules().ref = target
	return err
}

// compileDynamicRef compiles a $dynamicRef (Core, section 8.2.3.2). It behaves like $ref unless its
// initially resolved target has a $dynamicAnchor of the name in its fragment.
func compileDynamicRef(c *compiler, s *subschema, at uint32) error {
	target, anchor, err := c.compileReference(s, at)
	if err != nil {
		return err
	}
	s.logicRules().dynamicRef = target
	if n, ok := target.res.dynamicAnchors[anchor]; ok && n == target.node {
		s.logicRules().dynamicName = anchor
		c.compileDynamicAnchors(anchor)
	}
	return nil
}

func (c *compiler) compileReference(s *subschema, at uint32) (target *subschema, anchor string,
	err error) {
	doc := &s.res.doc.index
	if doc.kind(at) != str {
		return nil, "", fmt.Errorf("must be a URI reference, is %s", doc.describe(at))
	}
	res, n, anchor, err := c.resolveReference(s.res, string(doc.text(at)))
	if err != nil {
		return nil, "", err
	}
	return c.subschema(res, n), anchor, nil
}

func (v *validator) checkLogic(s *subschema, n uint32, evaluated bitset) bool {
	l, ok := s.logic, true
	if l.ref != nil {
		ok = v.eval(l.ref, n, evaluated)
	}
	if l.dynamicRef != nil && (ok || !v.firstOnly) {
		ok = v.eval(v.dynamicTarget(l), n, evaluated) && ok
	}
	for _, part := range l.allOf {
		if !ok && v.firstOnly {
			return false
		}
		ok = v.eval(part, n, evaluated) && ok
	}
	if !ok && v.firstOnly {
		return false
	}
	if l.anyOf != nil {
		ok = v.checkAnyOf(s, n, evaluated) && ok
	}
	if l.oneOf != nil {
		ok = v.checkOneOf(s, n, evaluated) && ok
	}
	if l.not != nil && v.evalWithoutCauses(l.not, n, nil) {
		ok = v.fail(s, n, "not", "", "must not match the schema of \"not\"")
	}
	if l.condition == nil || !ok && v.firstOnly {
		return ok
	}
	branch := l.otherwise
	if v.evalWithoutCauses(l.condition, n, evaluated) {
		branch = l.then
	}
	return (branch == nil || v.eval(branch, n, evaluated)) && ok
}

// dynamicTarget returns the subschema with the $dynamicAnchor in the outermost schema resource of
// the dynamic scope that has one.
func (v *validator) dynamicTarget(l *logicRules) *subschema {
	if l.dynamicName != "" {
		for _, res := range v.scope {
			if !v.step(1) {
				break
			}
			if target := res.dynamicSchemas[l.dynamicName]; target != nil {
				return target
			}
		}
	}
	return l.dynamicRef
}

// evalWithoutCauses evaluates a subschema whose failure does not make the instance invalid. The
// members or items that it evaluates count only if it succeeds.
func (v *validator) evalWithoutCauses(s *subschema, n uint32, evaluated bitset) bool {
	firstOnly, mark := v.firstOnly, len(v.words)
	v.firstOnly = true
	own := evaluated
	if evaluated != nil {
		own = v.newBitset(len(evaluated) * 64)
	}
	ok := v.eval(s, n, own)
	if ok {
		for i := range own {
			evaluated[i] |= own[i]
		}
	}
	v.firstOnly, v.words = firstOnly, v.words[:mark]
	return ok
}

func (v *validator) checkAnyOf(s *subschema, n uint32, evaluated bitset) bool {
	ok := false
	for _, branch := range s.logic.anyOf {
		if v.evalWithoutCauses(branch, n, evaluated) {
			if ok = true; evaluated == nil {
				break // else every branch must add what it evaluates
			}
		}
	}
	if !ok && !v.firstOnly {
		v.failAlternatives(s, n, "anyOf", s.logic.anyOf)
	}
	return ok
}

func (v *validator) checkOneOf(s *subschema, n uint32, evaluated bitset) bool {
	var fits []string
	count := 0
	for i, branch := range s.logic.oneOf {
		if !v.evalWithoutCauses(branch, n, evaluated) {
			continue
		}
		if count++; count > 1 && v.firstOnly {
			return false
		}
		if !v.firstOnly {
			fits = append(fits, fmt.Sprint(i))
		}
	}
	switch {
	case count == 1:
		return true
	case v.firstOnly:
	case count == 0:
		v.failAlternatives(s, n, "oneOf", s.logic.oneOf)
	default:
		v.fail(s, n, "oneOf", "", "must match exactly one of %s, matches %d of them (numbers %s, counted from 0)",
			plural(len(s.logic.oneOf), "alternative"), count, strings.Join(fits, ", "))
	}
	return false
}

// failAlternatives records why no alternative accepts an instance. If each has a single cause,
// which is about the instance itself, it records one cause with all their reasons, and otherwise
// all causes of the alternative that was probably meant.
func (v *validator) failAlternatives(s *subschema, n uint32, keyword string,
	alternatives []*subschema) {
	outer, omitted := v.findings, v.omitted
	var reasons []finding
	var closest []finding
	closestAt, closestOmitted, least := 0, 0, 0
	for i, alternative := range alternatives {
		v.findings, v.omitted = nil, 0
		v.eval(alternative, n, nil)
		if len(v.findings) == 1 && v.findings[0].node == n {
			reasons = append(reasons, v.findings[0])
		}
		if d := distance(v.findings, n); i == 0 || d < least {
			closestAt, closest, closestOmitted, least = i, v.findings, v.omitted, d
		}
	}
	v.findings, v.omitted = outer, omitted
	if len(reasons) == len(alternatives) {
		f := mergeReasons(reasons)
		f.node, f.schema, f.keyword = n, s, keyword
		v.addFinding(f)
		return
	}
	v.fail(s, n, keyword, "", "must match one of %s, of which number %d (counted from 0) is the closest",
		plural(len(alternatives), "alternative"), closestAt)
	for _, f := range closest {
		f.guessed = true
		v.addFinding(f)
	}
	v.omitted += closestOmitted
}

// mergeReasons returns one finding with the reasons of all alternatives, of which there must be at
// least one.
func mergeReasons(all []finding) finding {
	merged := finding{types: all[0].types, showsValue: all[0].showsValue}
	var reasons []string
	for _, f := range all {
		reasons = append(reasons, f.reason)
		merged.showsValue = merged.showsValue && f.showsValue
		merged.types |= f.types
	}
	merged.reason = strings.Join(slices.Compact(reasons), ", or ")
	if slices.ContainsFunc(all, func(f finding) bool { return f.types == 0 }) {
		merged.types = 0
	} else {
		merged.reason = "must be " + merged.types.String()
	}
	return merged
}

// distance estimates how far an instance is from an alternative with these findings. A wrong type
// counts most, then const and enum, which often distinguish alternatives.
func distance(found []finding, n uint32) int {
	d := len(found)
	for _, f := range found {
		switch {
		case f.keyword == "type" && f.node == n:
			d += 1000
		case f.keyword == "const" || f.keyword == "enum":
			d += 100
		}
	}
	return d
}
