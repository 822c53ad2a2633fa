package conformance

import (
	_ "embed" // for the schema of skills
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/dispatch/schema"
)

// Schemas are the published JSON Schemas of MCP's revisions. They are safe for concurrent use.
type Schemas struct {
	dir string // contains REVISION/schema.json

	mu        sync.Mutex
	revisions map[string]*definitions
}

// OpenSchemas returns the schemas in $STDWIRE_SUITES, or nil if that is not set.
func OpenSchemas() *Schemas {
	suites := os.Getenv("STDWIRE_SUITES")
	if suites == "" {
		return nil
	}
	return &Schemas{dir: filepath.Join(suites, "mcp-schema"), revisions: map[string]*definitions{}}
}

// definitions are the schema of one revision.
type definitions struct {
	document map[string]json.RawMessage
	keyword  string            // "$defs" or "definitions"
	messages map[string]string // names of definitions by method
	tasks    *definitions      // the tasks extension of this revision; nil: none
	skills   *definitions      // the skills extension

	mu       sync.Mutex
	names    map[string]json.RawMessage
	compiled map[string]*schema.Schema
}

func (s *Schemas) revision(name string) (*definitions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.revisions[name]; ok {
		return d, nil
	}
	d, err := s.read(name)
	if err == nil && name == "2026-07-28" {
		d.tasks, err = s.read("ext-tasks-draft")
	}
	if err == nil {
		d.skills, err = parseDefinitions(skillsSchema)
	}
	if err != nil {
		return nil, err
	}
	s.revisions[name] = d
	return d, nil
}

func (s *Schemas) read(name string) (*definitions, error) {
	raw, err := os.ReadFile(filepath.Join(s.dir, filepath.Base(name), "schema.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%q is not a revision of MCP", name)
	}
	if err != nil {
		return nil, err
	}
	return parseDefinitions(raw)
}

//go:embed skills.schema.json
var skillsSchema []byte

func parseDefinitions(raw []byte) (*definitions, error) {
	d := &definitions{keyword: "$defs", messages: map[string]string{},
		compiled: map[string]*schema.Schema{}}
	if err := json.Unmarshal(raw, &d.document); err != nil {
		return nil, err
	}
	if d.document[d.keyword] == nil {
		d.keyword = "definitions"
	}
	if err := json.Unmarshal(d.document[d.keyword], &d.names); err != nil {
		return nil, err
	}
	for definition, raw := range d.names {
		type object struct {
			Properties struct {
				Method struct{ Const string }
			}
		}
		var message struct {
			object
			AllOf []object
		}
		_ = json.Unmarshal(raw, &message) // other definitions are not messages
		for _, o := range append(message.AllOf, message.object) {
			if method := o.Properties.Method.Const; method != "" {
				d.messages[method] = definition
			}
		}
	}
	return d, nil
}

func (d *definitions) has(name string) bool { return d.names[name] != nil }

// validate validates a document against a definition.
func (d *definitions) validate(name string, document []byte) error {
	compiled, err := d.compile(name)
	if err != nil {
		return err
	}
	if err := compiled.Validate(document); err != nil {
		return fmt.Errorf("not a valid %s: %w", name, err)
	}
	return nil
}

func (d *definitions) compile(name string) (*schema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.compiled[name]; c != nil {
		return c, nil
	}
	document := map[string]json.RawMessage{
		"$ref": json.RawMessage(`"#/` + d.keyword + "/" + name + `"`)}
	for _, keyword := range []string{"$schema", d.keyword} {
		document[keyword] = d.document[keyword]
	}
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	c, err := schema.Options{AssertFormats: true}.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.compiled[name] = c
	return c, nil
}

// errorNames are the definitions of MCP errors, by code.
var errorNames = map[int]string{
	-32020: "HeaderMismatchError",
	-32021: "MissingRequiredClientCapabilityError",
	-32022: "UnsupportedProtocolVersionError",
	-32042: "URLElicitationRequiredError",
}

// isOfSkills reports whether a method is part of the skills extension.
func (d *definitions) isOfSkills(method string) bool {
	return d.skills != nil && d.skills.messages[method] != ""
}

// message validates a request or notification.
func (d *definitions) message(method string, frame []byte) error {
	name, ok := d.messages[method]
	if d.isOfSkills(method) {
		return d.skills.message(method, frame)
	}
	if !ok && d.tasks != nil {
		return d.tasks.message(method, frame)
	}
	if !ok {
		return fmt.Errorf("method not in the revision: %s", method)
	}
	return d.validate(name, frame)
}

// result validates a successful response to a request.
func (d *definitions) result(method string, frame, result []byte) error {
	request, ok := d.messages[method]
	if d.isOfSkills(method) {
		return d.skills.result(method, frame, result)
	}
	if !ok && d.tasks != nil {
		return d.tasks.result(method, frame, result)
	}
	if !ok {
		return fmt.Errorf("response to a method not in the revision: %s", method)
	}
	var began struct {
		ResultType string
		Task       json.RawMessage
	}
	if err := json.Unmarshal(result, &began); err != nil {
		return err
	}
	base := strings.TrimSuffix(request, "Request")
	switch {
	case began.ResultType == "task" && d.tasks != nil:
		return d.tasks.validate("CreateTaskResult", result)
	case began.Task != nil && d.has("CreateTaskResult"):
		return d.validate("CreateTaskResult", result)
	case d.has(base + "ResultResponse"):
		return d.validate(base+"ResultResponse", frame)
	case d.has(base + "Result"):
		return d.validate(base+"Result", result)
	}
	return d.validate("EmptyResult", result)
}

// failure validates an error response.
func (d *definitions) failure(code int, frame []byte) error {
	if name := errorNames[code]; d.has(name) {
		return d.validate(name, frame)
	}
	return nil // JSONRPCMessage covers other errors
}
