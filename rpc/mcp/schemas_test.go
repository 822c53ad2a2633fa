package mcp

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

type schemaFile struct {
	Defs        map[string]schemaDef `json:"$defs"`
	Definitions map[string]schemaDef `json:"definitions"`
}

type schemaDef struct {
	Ref        string               `json:"$ref"`
	Const      any                  `json:"const"`
	Properties map[string]schemaDef `json:"properties"`
	Required   []string             `json:"required"`
	AnyOf      []schemaDef          `json:"anyOf"`
	AllOf      []schemaDef          `json:"allOf"`
}

func readSchema(t *testing.T, name string) map[string]schemaDef {
	data, err := os.ReadFile(filepath.Join(suite(t), name, "schema.json"))
	assert.NilError(t, err)
	var file schemaFile
	assert.NilError(t, json.Unmarshal(data, &file))
	if file.Defs == nil {
		file.Defs = file.Definitions
	}
	assert.Assert(t, len(file.Defs) > 50)
	return file.Defs
}

// method returns the method of a request or notification, else "".
func (d schemaDef) method() string {
	if m, ok := d.Properties["method"].Const.(string); ok {
		return m
	}
	for _, part := range d.AllOf {
		if m := part.method(); m != "" {
			return m
		}
	}
	return ""
}

// TestFieldsAgainstSchemas checks that there is a field for every property of any revision, and
// that required ones are never omitted.
func TestFieldsAgainstSchemas(t *testing.T) {
	checked := map[string]bool{}
	for _, name := range append(revisionNames(), "ext-tasks-draft") {
		defs := readSchema(t, name)
		for kind, def := range defs {
			zero := definitions[kind]
			if m := def.method(); m != "" {
				zero, def = paramsOf[m], def.params()
			} else if name == "ext-tasks-draft" && (kind == "CreateTaskResult" || kind == "Task") {
				zero = map[string]any{"CreateTaskResult": TaskResult{}, "Task": Task{}}[kind]
			}
			if zero == nil || reflect.TypeOf(zero).Kind() != reflect.Struct {
				continue
			}
			checked[kind] = true
			fields, _ := fieldsOf(reflect.TypeOf(zero))
			checkFields(t, name+": "+kind, def, reflect.TypeOf(zero))
			for _, f := range fields {
				if name == string(Rev20260728) && !f.optional {
					assert.Assert(t, len(def.Required) == 0 ||
						slices.Contains(def.Required, f.name),
						"%s.%s is always written, but not required", kind, f.name)
				}
			}
		}
	}
	for kind := range definitions {
		if reflect.TypeOf(definitions[kind]).Kind() == reflect.Struct && !checked[kind] {
			assert.Assert(t, kind == "EmptyResult" ||
				kind == "CacheableResult", "no schema defines %s", kind)
		}
	}
}

// checkFields checks that typ has a field for every property of def, and of the objects described
// in it.
func checkFields(t *testing.T, where string, def schemaDef, typ reflect.Type) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice &&
		typ != reflect.TypeFor[json.RawMessage]() {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[Object]() {
		return // raw JSON
	}
	fields, _ := fieldsOf(typ)
	for name, property := range def.all() {
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name })
		assert.Assert(t, i >= 0 || name == "type" &&
			hasType(typ), "%s.%s has no field in %s", where, name, typ)
		if i >= 0 {
			checkFields(t, where+"."+name, property, typ.FieldByIndex(fields[i].path).Type)
		}
	}
}

// params returns the definition of the params if it is inside that of the request, as in the older
// revisions.
func (d schemaDef) params() schemaDef {
	if p, ok := d.Properties["params"]; ok {
		return p
	}
	for _, part := range d.AllOf {
		if p := part.params(); p.Properties != nil {
			return p
		}
	}
	return schemaDef{}
}

// all returns the properties, including those of definitions that it combines.
func (d schemaDef) all() map[string]schemaDef {
	names := maps.Clone(d.Properties)
	if names == nil {
		names = map[string]schemaDef{}
	}
	for _, part := range append(d.AllOf, d.AnyOf...) {
		maps.Copy(names, part.all())
	}
	return names
}

func revisionNames() []string {
	var names []string
	for _, r := range Supported() {
		names = append(names, string(r))
	}
	return names
}

// TestMethodsAgainstSchemas compares the method table with the schema of each revision: the methods
// and their senders.
func TestMethodsAgainstSchemas(t *testing.T) {
	for _, r := range Supported() {
		defs := readSchema(t, string(r))
		want := map[string]Sender{}
		for union, sender := range map[string]Sender{
			"ClientRequest": ByClient, "ServerRequest": ByServer, "InputRequest": AsInput,
			"ClientNotification": ByClient, "ServerNotification": ByServer,
		} {
			def := defs[union]
			if m := def.method(); m != "" { // a union of one
				want[m] |= sender
			}
			for _, part := range def.AnyOf {
				m := defs[part.Ref[strings.LastIndexByte(part.Ref, '/')+1:]].method()
				assert.Assert(t, m != "", "%s: %s", r, part.Ref)
				want[m] |= sender
			}
		}
		for kind, def := range defs {
			if m := def.method(); m != "" {
				assert.Assert(t, want[m] != 0, "%s: nobody sends %s", r, kind)
			}
		}
		got := map[string]Sender{}
		for m := range Methods(r) {
			assert.Equal(t, m.Notification, strings.HasPrefix(m.Name, "notifications/"))
			if m.Extension == "" {
				got[m.Name] = m.Sender
			}
		}
		assert.DeepEqual(t, got, want)
	}
}

func TestExtensionMethodsAgainstSchema(t *testing.T) {
	var want, got []string
	for _, def := range readSchema(t, "ext-tasks-draft") {
		if m := def.method(); m != "" && strings.Contains(m, "tasks") {
			want = append(want, m)
		}
	}
	for m := range Methods(LatestModern) {
		if m.Extension == ExtensionTasks {
			got = append(got, m.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
}
