package schema

import (
	"fmt"
	"slices"
	"strings"
)

// logicRules are the keywords that apply other schemas to the same instance.
type logicRules struct {
	ref *subschema
	// target of a $ref, and of a $dynamicRef if the dynamic scope has no other
	dynamicRef                 *subschema
	dynamicName                string // the anchor of a $dynamicRef; "" for a $ref
	allOf, anyOf, oneOf        []*subschema
	not                        *subschema
	condition, then, otherwise *subschema
}

func (s *subschema) logic() *logicRules {
	if s.applied == nil {
		s.applied = &logicRules{}
	}
	return s.applied
}

// each yields all of them except the target of a $dynamicRef. It reports whether the caller wanted
// all.
func (l *logicRules) each(yield func(*subschema) bool) bool {
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
	target, _, err := c.reference(s, at)
	s.logic().ref = target
	return err
}

// compileDynamicRef compiles a $dynamicRef (Core, section 8.2.3.2). It is a $ref unless its target
// has a $dynamicAnchor.
func compileDynamicRef(c *compiler, s *subschema, at uint32) error {
	target, anchor, err := c.reference(s, at)
	if err != nil {
		return err
	}
	s.logic().dynamicRef = target
	if n, ok := target.res.dynamic[anchor]; ok && n == target.node {
		s.logic().dynamicName = anchor
		c.lookFor(anchor)
	}
	return nil
}

func (c *compiler) reference(s *subschema, at uint32) (target *subschema, anchor string,
	err error) {
	x := &s.res.doc.index
	if x.kind(at) != str {
		return nil, "", fmt.Errorf("must be a URI reference, is %s", x.describe(at))
	}
	res, n, anchor, err := c.find(s.res, string(x.text(at)))
	if err != nil {
		return nil, "", err
	}
	return c.subschema(res, n), anchor, nil
}

func (v *run) checkLogic(s *subschema, n uint32, evaluated bitset) bool {
	l, ok := s.applied, true
	if l.ref != nil {
		ok = v.eval(l.ref, n, evaluated)
	}
	if l.dynamicRef != nil && (ok || !v.quick) {
		ok = v.eval(v.dynamicTarget(l), n, evaluated) && ok
	}
	for _, part := range l.allOf {
		if !ok && v.quick {
			return false
		}
		ok = v.eval(part, n, evaluated) && ok
	}
	if !ok && v.quick {
		return false
	}
	if l.anyOf != nil {
		ok = v.checkAnyOf(s, n, evaluated) && ok
	}
	if l.oneOf != nil {
		ok = v.checkOneOf(s, n, evaluated) && ok
	}
	if l.not != nil && v.quietly(l.not, n, nil) {
		ok = v.fail(s, n, "not", "", "must not be what the schema under \"not\" describes")
	}
	if l.condition == nil || !ok && v.quick {
		return ok
	}
	branch := l.otherwise
	if v.quietly(l.condition, n, evaluated) {
		branch = l.then
	}
	return (branch == nil || v.eval(branch, n, evaluated)) && ok
}

// dynamicTarget returns the schema with the $dynamicAnchor in the outermost resource of the dynamic
// scope that has it.
func (v *run) dynamicTarget(l *logicRules) *subschema {
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

// quietly evaluates a schema whose failure does not make the instance invalid. Its evaluated
// members or items count only if it succeeds.
func (v *run) quietly(s *subschema, n uint32, evaluated bitset) bool {
	quick, mark := v.quick, len(v.words)
	v.quick = true
	own := evaluated
	if evaluated != nil {
		own = v.take(len(evaluated) * 64)
	}
	ok := v.eval(s, n, own)
	if ok {
		for i := range own {
			evaluated[i] |= own[i]
		}
	}
	v.quick, v.words = quick, v.words[:mark]
	return ok
}

func (v *run) checkAnyOf(s *subschema, n uint32, evaluated bitset) bool {
	ok := false
	for _, branch := range s.applied.anyOf {
		if v.quietly(branch, n, evaluated) {
			if ok = true; evaluated == nil {
				break // otherwise all branches add what they evaluate
			}
		}
	}
	if !ok && !v.quick {
		v.explain(s, n, "anyOf", s.applied.anyOf)
	}
	return ok
}

func (v *run) checkOneOf(s *subschema, n uint32, evaluated bitset) bool {
	var fits []string
	count := 0
	for i, branch := range s.applied.oneOf {
		if !v.quietly(branch, n, evaluated) {
			continue
		}
		if count++; count > 1 && v.quick {
			return false
		}
		if !v.quick {
			fits = append(fits, fmt.Sprint(i))
		}
	}
	switch {
	case count == 1:
		return true
	case v.quick:
	case count == 0:
		v.explain(s, n, "oneOf", s.applied.oneOf)
	default:
		v.fail(s, n, "oneOf", "", "must fit exactly one of %s, fits %d of them (numbers %s from 0)",
			plural(len(s.applied.oneOf), "alternative"), count, strings.Join(fits, ", "))
	}
	return false
}

// explain reports that no alternative accepts an instance. If each refuses the instance itself for
// one reason, it reports these reasons, and otherwise all causes of the alternative that was
// probably meant.
func (v *run) explain(s *subschema, n uint32, keyword string, alternatives []*subschema) {
	outer, omitted := v.found, v.omitted
	var reasons []finding
	var closest []finding
	closestAt, closestOmitted, least := 0, 0, 0
	for i, alternative := range alternatives {
		v.found, v.omitted = nil, 0
		v.eval(alternative, n, nil)
		if len(v.found) == 1 && v.found[0].node == n {
			reasons = append(reasons, v.found[0])
		}
		if d := distance(v.found, n); i == 0 || d < least {
			closestAt, closest, closestOmitted, least = i, v.found, v.omitted, d
		}
	}
	v.found, v.omitted = outer, omitted
	if len(reasons) == len(alternatives) {
		f := merge(reasons)
		f.node, f.schema, f.keyword = n, s, keyword
		v.add(f)
		return
	}
	v.fail(s, n, keyword, "", "must fit one of %s, of which number %d (from 0) is the closest",
		plural(len(alternatives), "alternative"), closestAt)
	for _, f := range closest {
		v.add(f)
	}
	v.omitted += closestOmitted
}

// merge returns the reason that consists of the reasons of all alternatives, at least one.
func merge(all []finding) finding {
	merged := finding{types: all[0].types, refused: all[0].refused}
	var reasons []string
	for _, f := range all {
		reasons = append(reasons, f.reason)
		merged.refused = merged.refused && f.refused
		if merged.types |= f.types; f.types == 0 {
			merged.types = 0
		}
	}
	merged.reason = strings.Join(slices.Compact(reasons), ", or ")
	if !slices.ContainsFunc(all, func(f finding) bool { return f.types == 0 }) {
		merged.reason = "must be " + merged.types.String()
	}
	return merged
}

// distance estimates how far an instance is from an alternative: an instance of another type is
// furthest, then one whose const or enum tells alternatives apart.
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
