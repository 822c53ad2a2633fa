// Package schema compiles JSON Schemas, validates JSON against them, and infers them from Go types.
//
//	s, err := schema.Compile([]byte(
//		`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`))
//	err = s.Validate([]byte(`{"pth":1}`)) // /: missing required property "path"
//
// # Validating
//
// [Compile] turns a schema of draft 2020-12 or draft-07 into a [Schema], once. [Schema.Validate]
// then checks JSON text as it comes from the wire. It indexes where each value starts and ends and
// decodes nothing, so a valid document costs no allocation. [Schema.ValidateScanned] skips the
// check that the text is JSON. For an invalid document the error is an [*Error], whose causes name
// the place, the keyword and the reason, in words that the author of the document can act on.
//
// Numbers are compared exactly, whatever their size and notation. Lengths count code points. An
// object is invalid if a property that the schema names occurs twice, because readers disagree
// about which occurrence counts.
//
// # Limits
//
// The schema may come from a stranger. Validation takes time linear in the size of the document
// whatever the schema: it counts its steps, and fails with [ErrLimit] when there are too many for a
// document of that size. Arrays and objects may be nested 1000 deep. Compiling takes time linear in
// the size of the schema, which is limited to 4 MiB and 100,000 subschemas; its regular
// expressions, its URIs and the digits of a multipleOf are limited too. Compile refuses a schema
// that applies itself to the same instance, as {"$ref":"#"} does. Nothing is fetched: a document
// that a schema refers to comes from [Options].Load or not at all.
//
// # Inferring schemas
//
// [For] infers the schema of a Go type from the type as encoding/json reads it, and from struct
// tags for constraints that Go types do not express. [Output] infers it from what encoding/json
// writes. [Schema.FillDefaults] inserts the defaults of a schema into a document.
//
// # What is implemented
//
// All of JSON Schema 2020-12 (Core and Validation) and draft-07, vocabularies of custom
// meta-schemas included. The keyword format is an annotation unless [Options].AssertFormats is set
// or the meta-schema has the format-assertion vocabulary; the content keywords are always
// annotations. Regular expressions are those of ECMA-262, except that lookaround and
// backreferences, which cannot be matched in linear time, are refused with [ErrPattern].
//
// All required tests of JSON-Schema-Test-Suite pass, and all optional ones except these:
//
//   - cross-draft: schemas of other drafts (2019-09, draft-06, …) are refused with [ErrDialect].
//   - format/idn-hostname, and the punycode labels of format/hostname: their Unicode form is not
//     checked, because the standard library does not have the tables of IDNA.
//   - content (draft-07): content keywords assert nothing.
package schema
