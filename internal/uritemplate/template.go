// Package uritemplate expands URI templates (RFC 6570, levels 1 to 4), and finds the variables in a URI that a template describes, which is the
// way back:
//
//	t, err := uritemplate.Parse("repo://{owner}/{name}/contents{/path*}{?ref}")
//	values, ok := t.Match("repo://stdwire/stdwire/contents/rpc/peer.go?ref=main")
//	values["path"].Parts() // rpc, peer.go
//	uri, err := t.Expand(values)
//
// A [Set] finds out of many templates the one that a URI belongs to.
//
// # Matching
//
// RFC 6570 has no section on it. These are the rules here:
//
//   - What Expand makes matches, and Match finds what went in, as far as the URI still tells. The whole URI has to match. What Expand can make and Match
//     does not know any more: a percent-encoding that is not UTF-8, from a text after + or #; a pair without a key after ; ? and &; {x:1,y} without
//     x, with a y that is too long for x; and a variable that is mentioned twice, if that by itself does not say where its text ends.
//   - Each expression, from the left, takes the most with which the rest still matches: {name}.{ext} finds a.tar and gz in a.tar.gz. But it leaves
//     to an operator right behind it what that can begin with: {+path}{?q} finds a/b and 1 in a/b?q=1, {name}{.ext} finds a and tar.gz, {x,y} finds 1,
//     and the list 2, 3 in 1,2,3; only {?a,b}{&m*} keeps the parameters that it has a name for.
//   - {x} takes no character that Expand would have encoded, so no slash; {+x} and {#x} take every one. {x:3} takes at most 3 characters.
//   - Parameters of one {?a,b}, {&a,b} or {;a,b} may stand in any order; one that is missing is undefined; one that is unknown, or that is
//     there twice without being exploded, is no match, nor is one without a name. An exploded variable also takes the unknown ones, as pairs.
//   - Where nothing is, the variable is undefined: {x} in "" and {/x} in "". Where only the operator or the separator is, it is the
//     empty string: {/x} in "/", {?x} in "?x=", and both of {x,y} in ",". Of {x,y}, the first ones are those that are there.
//   - A comma that is not encoded makes a list of a value, except after + and #, where it is part of a string. An exploded variable is
//     always a list, or pairs if every member has an equals sign.
//   - A variable that is in the template twice has to have one value; {x:3} then stands for the beginning of what is found for {x}.
//   - Percent-encoding is compared as RFC 3986, section 6.2.2 has it (%7e is ~, %2f is %2F), and decoded in what is found. {+x} does not tell any
//     more whether a reserved character was encoded. Letters outside ASCII may stand in the URI as they are (RFC 3987, section 3.1). A URI
//     matches nothing if it has a character that no URI can have, half a percent-encoding, one that is not UTF-8, or more than [MaxURI] bytes.
//   - A URI that no values expand to is tried once more with values that contain what RFC 3986 lets stand in a path segment or a query, since
//     not everybody encodes as much as Expand does: user://{name} finds ann@example.com in user://ann@example.com.
//
// Time and memory grow with the length of the URI times that of the template, and never faster, whatever the two are.
package uritemplate

import (
	"fmt"
	"slices"
)

// Limits of a template and of what is matched. They are in bytes, but for MaxVariables, which counts every mention of a variable.
const (
	MaxTemplate  = 8 << 10
	MaxVariables = 100
	MaxURI       = 64 << 10
)

// Template is a parsed URI template. It does not change; all its methods may be called at the same time.
type Template struct {
	text     string
	parts    []part
	names    []string
	prefix   string // the literal that every match begins with
	steps    []step // what follows it
	never    bool   // no URI can match: a literal or a name has a percent-encoding that is not UTF-8
	mentions int    // of variables, more than there are names if one is repeated
}

// part is a literal, as it is expanded, or an expression.
type part struct {
	literal string
	op      operator
	vars    []variable
}

// variable is what RFC 6570, section 2.3, calls a varspec.
type variable struct {
	name    string
	normal  string // the name as it is in a normalised URI
	explode bool
	max     int // characters, of the prefix modifier; 0 is all
}

// operator is a column of the table in RFC 6570, appendix A.
type operator struct {
	first, sep byte // 0 is nothing
	named      bool
	ifEmpty    string
	reserved   bool    // reserved characters are not encoded
	loose      charset // what others than Expand leave unencoded in a value
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

// String returns the template as it was parsed.
func (t *Template) String() string { return t.text }

// Variables returns the names of the variables, each once, in the order in which the template mentions them, percent-encoded as they stand there.
// The slice is the caller's.
func (t *Template) Variables() []string { return slices.Clone(t.names) }

// SyntaxError is what is wrong with a template; [Parse] returns no other error.
type SyntaxError struct {
	Template string
	Offset   int // of the byte in Template that is wrong
	Reason   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("URI template %.200q: at byte %d: %s", e.Template, e.Offset, e.Reason)
}
