// Package policy decides who may do what: it reads a table of rules, and evaluates it for a caller,
// an item such as a tool, and the arguments of a call.
//
// A table is an object with rules and, if it is to be "allow", a default. A rule has an effect, and
// applies where its who, what and arguments hold and its unless does not. Its order in the table
// decides nothing: deny wins over ask, and ask over allow. What no rule of effect allow or ask
// grants has the default, which is deny. Without any table everything is allowed; that is for the
// caller of this package to decide.
//
// A condition is true, false, or cannot be evaluated: it is about a claim or an argument that is
// missing, ambiguous or of another type, or a list in which an element of another type may be what
// is looked for, or about a caller who is unknown. Then a rule of effect deny or hide applies, one
// of effect allow does not, and one of effect ask demands the question without granting anything.
// While the arguments of a call are unknown, as in lists, a condition about them may turn out to be
// any of the three. So lists show what may be allowed, and calls decide; see [Decision].Certain.
//
// There are no expressions, no regular expressions and no loops. Everything is bounded: see the
// constants. A [Policy] is immutable, but for what it caches, and safe for concurrent use.
package policy

const (
	// MaxRules limits the rules of a table.
	MaxRules = 10_000
	// maxList limits the values of a list of a rule, and its conditions.
	maxList = 1000
	// maxText limits the bytes of names, patterns, pointers and values.
	maxText = 1024
	// maxPointers limits the different JSON Pointers of the arguments in a table, because each
	// costs a walk over the arguments of a call.
	maxPointers = 256
	// maxDepth limits the tokens of a JSON Pointer.
	maxDepth = 16
	// maxMatched limits the bytes of a text that a pattern is compared with; a longer one cannot be
	// evaluated.
	maxMatched = 64 << 10
	// maxErrors limits the problems of a table that are reported at once.
	maxErrors = 20
	// maxSelections limits the items whose rules are cached. Clients can invent URIs.
	maxSelections = 8192
)
