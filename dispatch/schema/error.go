package schema

import (
	"errors"
	"fmt"
	"strings"
)

// maxCauses is the maximum number of causes in an [Error].
const maxCauses = 10

var (
	// ErrLimit is wrapped by the error of Compile for a schema that is too large, and by that of a
	// validation that takes too many steps for a document of its size, which may be valid.
	ErrLimit = errors.New("limit reached")

	// ErrDialect is wrapped by the error of Compile for a schema whose $schema names a dialect, or
	// whose meta-schema requires a vocabulary, that this package does not implement.
	ErrDialect = errors.New("unsupported dialect")

	// ErrReference is wrapped by the error of Compile for a reference whose target does not exist,
	// or is in a document that [Options].Load does not return.
	ErrReference = errors.New("unresolved reference")

	// ErrPattern is wrapped by the error of Compile for an invalid regular expression, or one that
	// cannot be matched in linear time, such as one with a lookahead or a backreference.
	ErrPattern = errors.New("unusable regular expression")
)

// A schemaError says why Compile refused a schema.
type schemaError struct {
	path string // as Cause.SchemaPath
	err  error
}

func (e *schemaError) Error() string { return "schema " + e.path + ": " + e.err.Error() }

func (e *schemaError) Unwrap() error { return e.err }

// An Error says why a document is invalid. Its text lists the causes in words that the author of
// the document, who may be a language model, can act on:
//
//	count must be an integer, not "three"; missing required property "path"
//
// The text shows at most about 40 characters of a scalar, no item or member of an array or object,
// and nothing of a value that is writeOnly or of format password by the schema.
type Error struct {
	Causes  []Cause // 1 to 10, in the order in which they were found
	Omitted int     // the number of further causes
}

// A Cause is one reason why a document is invalid.
type Cause struct {
	// the JSON Pointer (RFC 6901) to the invalid value; "" for the whole document
	InstancePath string
	// the location of the keyword that failed: "#/properties/count/minimum", after the URI of its
	// schema resource if that has one
	SchemaPath string
	// Keyword is the keyword that failed, such as "required" or "type". It is "" for a value whose
	// schema is false, and for an object in which a property occurs twice.
	Keyword string
	// the property of the value that the cause is about: it is missing, not allowed, or has an
	// invalid name
	Property string
	// either a predicate of the value, such as "must be an integer, not "three"", or a statement of
	// its own, such as "missing required property "path""
	Reason string
}

func (e *Error) Error() string {
	var text strings.Builder
	for i, cause := range e.Causes {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(cause.String())
	}
	if e.Omitted > 0 {
		fmt.Fprintf(&text, "; and %d more", e.Omitted)
	}
	return text.String()
}

// String returns the reason after the name of the value, which it writes as programmers do:
// size.height, points[0]. The whole document has no name.
func (c Cause) String() string { return c.About(valueName(c.InstancePath)) }

// About returns the reason after this name of the value, or alone if name is "": "size must be a
// number", "point: missing required property "x"".
func (c Cause) About(name string) string {
	switch {
	case name == "":
		return c.Reason
	case strings.HasPrefix(c.Reason, "must "):
		return name + " " + c.Reason
	}
	return name + ": " + c.Reason
}
