// Package uritemplate expands URI templates (RFC 6570, levels 1 to 4), and finds the values of the
// variables in a URI that a template describes:
//
//	t, err := uritemplate.Parse("repo://{owner}/{name}/contents{/path*}{?ref}")
//	values, ok := t.Match("repo://stdwire/stdwire/contents/rpc/peer.go?ref=main")
//	values["path"].Parts() // rpc, peer.go
//	uri, err := t.Expand(values)
//
// A [Set] finds the template that a URI belongs to.
//
// # Matching
//
// RFC 6570 does not define matching. These are the rules of this package:
//
//   - A result of Expand matches, and Match returns the values as far as the URI determines them.
//     The whole URI has to match. Some results of Expand do not match: with a percent-encoding that
//     is not UTF-8, from a text after + or #; with a pair without a key after ; ? and &; {x:1,y}
//     without x, with a y that is too long for x; and with a repeated variable whose text has an
//     ambiguous end.
//   - Expressions are greedy from left to right: {name}.{ext} finds a.tar and gz in a.tar.gz. But
//     an expression leaves to the operator directly after it what that can start with: {+path}{?q}
//     finds a/b and 1 in a/b?q=1, {name}{.ext} finds a and tar.gz, {x,y} finds 1, and the list 2, 3
//     in 1,2,3; only {?a,b}{&m*} keeps the parameters that it names.
//   - {x} accepts no character that Expand would encode, so no slash; {+x} and {#x} accept every
//     character. {x:3} accepts at most 3 characters.
//   - The parameters of one {?a,b}, {&a,b} or {;a,b} may have any order. A missing one is
//     undefined. An unknown one, one that is repeated without being exploded, and one without a
//     name do not match. An exploded variable also accepts unknown parameters, as pairs.
//   - A variable without text is undefined: {x} in "" and {/x} in "". If the operator or the
//     separator is present, it is the empty string: {/x} in "/", {?x} in "?x=", and both of {x,y}
//     in ",". If {x,y} has one value, that is x.
//   - An unencoded comma makes a value a list, except after + and #, where it is part of a string.
//     An exploded variable is always a list, or pairs if every member has an equals sign.
//   - A variable that occurs twice in the template must have one value; {x:3} is then a prefix of
//     that of {x}.
//   - Percent-encodings are compared by RFC 3986, section 6.2.2 (%7e is ~, %2f is %2F), and decoded
//     in values. {+x} does not tell whether a reserved character was encoded. Letters outside ASCII
//     may be unencoded in the URI (RFC 3987, section 3.1). A URI matches nothing if it has a
//     character that URIs cannot have, an incomplete percent-encoding, one that is not UTF-8, or
//     more than [MaxURI] bytes.
//   - A URI that is not an expansion is matched again with values that contain what RFC 3986 allows
//     in a path segment or a query, because many programs encode less than Expand: user://{name}
//     finds ann@example.com in user://ann@example.com.
//
// Time and memory are at most proportional to the length of the URI times that of the template.
package uritemplate

import (
	"fmt"
	"slices"
)

// Limits of a template and of a URI to match, in bytes, except for MaxVariables, which counts each
// occurrence of a variable.
const (
	MaxTemplate  = 8 << 10
	MaxVariables = 100
	MaxURI       = 64 << 10
)

// A Template is a parsed URI template. It is immutable and safe for concurrent use.
type Template struct {
	text   string
	parts  []part
	names  []string
	prefix string // the literal at the start of every match
	steps  []step // the steps after the prefix
	// no URI matches, because a literal or name has a percent-encoding that is not UTF-8
	never    bool
	mentions int // occurrences of variables
}

// A part is a literal, in expanded form, or an expression.
type part struct {
	literal string
	op      operator
	vars    []variable
}

// A variable is a varspec of RFC 6570, section 2.3.
type variable struct {
	name    string
	normal  string // the name in a normalised URI
	explode bool
	max     int // characters of the prefix modifier; 0 if none
}

// An operator is a column of the table in RFC 6570, appendix A.
type operator struct {
	first, sep byte // 0 if none
	named      bool
	ifEmpty    string
	reserved   bool    // reserved characters are not encoded
	loose      charset // what others than Expand do not encode in a value
}

var operators = map[byte]operator{
	0:   {sep: ',', loose: chars(segment)},
	'+': {sep: ',', loose: chars(anywhere), reserved: true},
	'#': {first: '#', sep: ',', loose: chars(anywhere), reserved: true},
	'.': {first: '.', sep: '.', loose: chars(segment)},
	'/': {first: '/', sep: '/', loose: chars(segment)},
	';': {first: ';', sep: ';', loose: chars(pathParams), named: true},
	'?': {first: '?', sep: '&', loose: chars(parameter), named: true, ifEmpty: "="},
	'&': {first: '&', sep: '&', loose: chars(parameter), named: true, ifEmpty: "="},
}

// String returns the text of the template.
func (t *Template) String() string { return t.text }

// Variables returns the distinct names of the variables in the order of their first occurrence,
// percent-encoded as in the template. The caller owns the slice.
func (t *Template) Variables() []string { return slices.Clone(t.names) }

// A SyntaxError describes an error in a template. [Parse] returns no other error.
type SyntaxError struct {
	Template string
	Offset   int // offset of the invalid byte in Template
	Reason   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("URI template %.200q: at byte %d: %s", e.Template, e.Offset, e.Reason)
}
