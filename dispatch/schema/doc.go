// Package schema compiles JSON Schemas, validates JSON against them, and makes them of Go types.
//
//	s, err := schema.Compile([]byte(
//		`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`))
//	err = s.Validate([]byte(`{"pth":1}`)) // /: missing required property "path"
//
// # Validating
//
// [Compile] turns a schema of draft 2020-12 or draft-07 into a [Schema], once. [Schema.Validate]
// then checks text as it comes from the wire: it makes an index of where each value starts and ends
// and walks that, so nothing is decoded and a valid document costs no allocation.
// [Schema.ValidateScanned] is for text that was found to be JSON before, [Schema.ValidateValue] for
// Go values. A document that does not fit gets an [*Error], whose causes name the place, the
// keyword and the reason in words that whoever wrote the document can act on.
//
// Numbers are compared exactly, whatever their size and notation; lengths count code points. An
// object that repeats a name that the schema declares is refused, because it depends on the reader
// which of the members counts.
//
// # Limits
//
// Time is linear in the size of the document whatever the schema, which may come from a stranger:
// validation counts its steps and gives up with [ErrLimit] when a document of that size should not
// need as many; documents are nested 1000 deep at most. Compiling takes time linear in the size of
// the schema, which is limited to 4 MiB and 100,000 subschemas; its regular expressions, the URIs
// in it and the digits of a multipleOf are limited as well. A schema that refers to itself without
// going down into the document is refused by Compile. Nothing is fetched: documents that a schema
// refers to come from a [Loader] or not at all.
//
// # Making schemas
//
// [For] makes the schema of a Go type as encoding/json sees it, with struct tags for what Go types
// cannot say. [Output] makes it for what a program writes rather than for what it reads.
// [Schema.FillDefaults] inserts the defaults of a schema into a document.
//
// # What is implemented
//
// All of JSON Schema 2020-12 (Core and Validation) and draft-07, vocabularies of custom
// meta-schemas included. Format is an annotation unless [AssertFormats] is given or the meta-schema
// has the format-assertion vocabulary; the content keywords are always annotations. Regular
// expressions are those of ECMA-262, but [ErrPattern] refuses what cannot be matched in linear
// time: lookaround and backreferences.
//
// All required tests of JSON-Schema-Test-Suite pass, and of the optional ones all but these:
//
//   - cross-draft: schemas of other drafts (2019-09, draft-06, …) are refused with [ErrDialect].
//   - format/idn-hostname, and the punycode labels in format/hostname: what they spell is not
//     checked, because it takes the Unicode tables of IDNA, which the standard library does not
//     have.
//   - content (draft-07): content keywords assert nothing.
package schema
