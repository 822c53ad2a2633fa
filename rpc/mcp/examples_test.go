package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/rpc"
)

// TestExamples decodes and encodes every example of the specification, in typed form at every
// level.
func TestExamples(t *testing.T) {
	dir := filepath.Join(suite(t), string(Rev20260728), "examples")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 100, "found %d examples", len(files))
	for _, file := range files {
		kind := filepath.Base(filepath.Dir(file))
		t.Run(kind+"/"+filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			assert.NilError(t, err)
			switch {
			case strings.HasSuffix(kind, "Request"), strings.HasSuffix(kind, "Notification"):
				exampleRequest(t, data)
			case strings.HasSuffix(kind, "ResultResponse"):
				var response struct{ Result json.RawMessage }
				assert.NilError(t, json.Unmarshal(data, &response))
				kind = strings.TrimSuffix(kind, "Response")
				assert.Assert(t, definitions[kind] != nil)
				noExtra(t, roundTrip(t, definitions[kind], response.Result))
			case strings.HasSuffix(kind, "Error"):
				exampleError(t, kind, data)
			default:
				assert.Assert(t, definitions[kind] != nil, "no Go type for %s", kind)
				v := roundTrip(t, definitions[kind], data)
				noExtra(t, v)
				if requests, ok := v.(InputRequests); ok {
					for _, r := range requests {
						noExtra(t, roundTrip(t, paramsOf[r.Method], r.Params))
					}
				}
				if p, ok := v.(ElicitParams); ok && p.Mode != ElicitURL {
					noExtra(t, roundTrip(t, elicitschema.Schema{}, p.RequestedSchema))
				}
			}
		})
	}
}

func exampleRequest(t *testing.T, data []byte) {
	var request struct {
		Method string
		Params json.RawMessage
	}
	assert.NilError(t, json.Unmarshal(data, &request))
	m, ok := MethodAt(request.Method, Rev20260728)
	assert.Assert(t, ok, "%s is not in the method table", request.Method)
	if m.Sender&AsInput != 0 {
		roundTrip(t, InputRequest{}, data)
	}
	if request.Params != nil {
		noExtra(t, roundTrip(t, paramsOf[request.Method], request.Params))
	}
}

func exampleError(t *testing.T, kind string, data []byte) {
	var response struct{ Error json.RawMessage }
	assert.NilError(t, json.Unmarshal(data, &response))
	if response.Error == nil { // the standard errors' examples are the bare object
		response.Error = data
	}
	e := roundTrip(t, rpc.Error{}, response.Error).(rpc.Error)
	if data := errorData[kind]; data != nil {
		roundTrip(t, data, e.Data)
	}
}

// noExtra fails if v has unknown members: the types have a field for everything in the examples.
func noExtra(t *testing.T, v any) {
	t.Helper()
	var walk func(rv reflect.Value)
	walk = func(rv reflect.Value) {
		switch rv.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !rv.IsNil() {
				walk(rv.Elem())
			}
		case reflect.Slice:
			for i := range rv.Len() {
				walk(rv.Index(i))
			}
		case reflect.Struct:
			_, isUnknown := rv.Interface().(UnknownContent)
			assert.Assert(t, !isUnknown)
			for i := range rv.NumField() {
				if !rv.Type().Field(i).IsExported() {
					continue
				}
				if x := rv.Field(i); rv.Type().Field(i).Tag.Get("unknown") == "keep" &&
					rv.Type() != reflect.TypeFor[Object]() {
					assert.Equal(t, x.Len(), 0, "%s does not know %v", rv.Type(), x.MapKeys())
				} else {
					walk(rv.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(v))
}
