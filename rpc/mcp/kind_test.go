package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// What the table says about a list is what its method returns.
func TestKinds(t *testing.T) {
	results := map[Kind]any{KindTool: new(ListToolsResult), KindPrompt: new(ListPromptsResult),
		KindResource:         new(ListResourcesResult),
		KindResourceTemplate: new(ListResourceTemplatesResult), KindSkill: new(ListSkillsResult)}
	for kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			item := `{"` + kind.Key() + `":"the key"}`
			assert.Equal(t, kind.KeyOf(json.RawMessage(item)), "the key")
			assert.Equal(t, kind.KeyOf(json.RawMessage(`{"`+kind.Key()+`":1}`)), "")
			assert.Assert(t, strings.HasSuffix(string(kind), kind.Short()))
			result := results[kind]
			if result == nil {
				assert.Equal(t, kind, KindApp)
				assert.Equal(t, kind.ListMethod()+kind.ListMember()+kind.ListChanged(), "")
				return
			}
			m, ok := MethodAt(kind.ListMethod(), Latest)
			assert.Assert(t, ok && m.Sender == ByClient && !m.Notification)
			m, ok = MethodAt(kind.ListChanged(), Latest)
			assert.Assert(t, ok && m.Sender == ByServer && m.Notification)
			id, isExtension := strings.CutPrefix(kind.Capability(), "extensions.")
			if m, _ := MethodAt(kind.ListMethod(), Latest); isExtension {
				assert.Equal(t, m.Extension, id)
			} else {
				var c ServerCapabilities
				assert.NilError(t, Unmarshal([]byte(`{"`+kind.Capability()+`":{}}`), &c))
				text, err := Marshal(c)
				assert.NilError(t, err)
				assert.Equal(t, string(text), `{"`+kind.Capability()+`":{}}`)
			}
			assert.NilError(t, Unmarshal([]byte(`{"`+kind.ListMember()+`":[`+item+`]}`), result))
			assert.Assert(t, strings.Contains(fmt.Sprintf("%+v", reflect.ValueOf(result).Elem().
				FieldByNameFunc(func(name string) bool {
					return strings.EqualFold(name, kind.ListMember())
				}).Index(0).Elem()), "the key"))
		})
	}
	own := Kind("tool of a program")
	assert.Equal(t, own.ListMethod()+own.Key()+own.KeyOf(json.RawMessage(`{"name":"x"}`)), "")
	assert.Assert(t, !slices.Contains(slices.Collect(Kinds()), own))
}
