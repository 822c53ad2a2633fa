package schema_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
)

func Example() {
	s, err := schema.Compile([]byte(`{
		"type": "object",
		"properties": {
			"path":  {"type": "string", "minLength": 1},
			"count": {"type": "integer", "minimum": 1}
		},
		"required": ["path"],
		"additionalProperties": false
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Validate([]byte(`{"path": "a.txt", "count": 3}`)))
	fmt.Println(s.Validate([]byte(`{"pth": "a.txt", "count": "3"}`)))
	// Output:
	// <nil>
	// unknown property "pth" (did you mean "path"?); count must be an integer, not "3"; missing required property "path"
}

// The causes let a caller treat some keywords differently.
func ExampleError() {
	s := schema.MustCompile(`{"properties": {"a": {"type": "null"}}, "required": ["a", "b"]}`)
	err := s.Validate([]byte(`{"a": 1}`))

	var failure *schema.Error
	if errors.As(err, &failure) {
		for _, cause := range failure.Causes {
			fmt.Printf("%s at %q by %s\n", cause.Keyword, cause.InstancePath, cause.SchemaPath)
			if cause.Keyword == "required" {
				fmt.Println("missing:", cause.Property)
			}
		}
	}
	// Output:
	// type at "/a" by #/properties/a/type
	// required at "" by #/required
	// missing: b
}

func ExampleFor() {
	type Query struct {
		City  string   `json:"city" doc:"City to look up." minLength:"1"`
		Days  int      `json:"days" min:"1" max:"14" default:"3"`
		Units string   `json:"units,omitempty" enum:"metric,imperial"`
		Tags  []string `json:"tags,omitempty" maxItems:"5"`
	}
	raw, err := schema.For[Query]()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ReplaceAll(string(raw), `},"`, "},\n\""))
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"City to look up.","minLength":1},
	// "days":{"type":"integer","default":3,"minimum":1,"maximum":14},
	// "units":{"type":"string","enum":["metric","imperial"]},
	// "tags":{"type":"array","maxItems":5,"items":{"type":"string"}}},
	// "required":["city"],"additionalProperties":false}
}

func ExampleExact() {
	type Note struct {
		Title *string `json:"title"`
	}
	portable, _ := schema.For[Note]()
	exact, _ := schema.For[Note](schema.Exact)
	fmt.Println(string(portable))
	fmt.Println(string(exact))
	// Output:
	// {"type":"object","properties":{"title":{"type":"string"}},"additionalProperties":false}
	// {"type":"object","properties":{"title":{"type":["string","null"]}},"additionalProperties":false}
}

func ExampleOutput() {
	type Report struct {
		Lines []string `json:"lines"`
		Sort  string   `json:"sort" default:"name"`
	}
	in, _ := schema.For[Report]()
	out, _ := schema.For[Report](schema.Output)
	fmt.Println(string(in))
	fmt.Println(string(out))
	// Output:
	// {"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}},"sort":{"type":"string","default":"name"}},"required":["lines"],"additionalProperties":false}
	// {"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}},"sort":{"type":"string","default":"name"}},"required":["lines","sort"],"additionalProperties":false}
}

func ExampleSchema_FillDefaults() {
	s := schema.MustCompile(
		`{"properties": {"depth": {"type": "integer", "default": 1}, "path": {"type": "string"}}}`)
	filled, err := s.FillDefaults([]byte(`{"path":"."}`))
	fmt.Println(string(filled), err)
	// Output: {"path":".","depth":1} <nil>
}

// Load returns documents from a map and refuses all others.
func ExampleOptions_Compile() {
	documents := map[string]string{
		"https://example.com/point": `{"type": "array", "items": {"type": "number"}, "minItems": 2}`,
	}
	options := schema.Options{Load: func(uri string) ([]byte, error) {
		if document, ok := documents[uri]; ok {
			return []byte(document), nil
		}
		return nil, errors.New("unknown document")
	}}
	s, err := options.Compile(
		[]byte(`{"$id": "https://example.com/line", "items": {"$ref": "point"}}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Validate([]byte(`[[0, 0], [1]]`)))

	_, err = options.Compile([]byte(`{"$ref": "https://elsewhere.example/s"}`))
	fmt.Println(errors.Is(err, schema.ErrReference), err)
	// Output:
	// [1] must have at least 2 items, has 1
	// true schema #/$ref: unresolved reference: the document "https://elsewhere.example/s": unknown document
}
