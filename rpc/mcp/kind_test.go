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
			info := kind.Info()
			item := `{"` + info.Key + `":"the key"}`
			assert.Equal(t, kind.KeyOf(json.RawMessage(item)), "the key")
			assert.Equal(t, kind.KeyOf(json.RawMessage(`{"`+info.Key+`":1}`)), "")
			assert.Assert(t, strings.HasSuffix(string(kind), info.Short))
			result := results[kind]
			if result == nil {
				assert.Equal(t, kind, KindApp)
				assert.Equal(t, info.ListMethod+info.ListMember+info.ListChanged, "")
				return
			}
			m, ok := MethodAt(info.ListMethod, Latest)
			assert.Assert(t, ok && m.Sender == ByClient && !m.Notification)
			m, ok = MethodAt(info.ListChanged, Latest)
			assert.Assert(t, ok && m.Sender == ByServer && m.Notification)
			id, isExtension := strings.CutPrefix(info.Capability, "extensions.")
			if m, _ := MethodAt(info.ListMethod, Latest); isExtension {
				assert.Equal(t, m.Extension, id)
			} else {
				var c ServerCapabilities
				assert.NilError(t, Unmarshal([]byte(`{"`+info.Capability+`":{}}`), &c))
				text, err := Marshal(c)
				assert.NilError(t, err)
				assert.Equal(t, string(text), `{"`+info.Capability+`":{}}`)
			}
			assert.NilError(t, Unmarshal([]byte(`{"`+info.ListMember+`":[`+item+`]}`), result))
			assert.Assert(t, strings.Contains(fmt.Sprintf("%+v", reflect.ValueOf(result).Elem().
				FieldByNameFunc(func(name string) bool {
					return strings.EqualFold(name, info.ListMember)
				}).Index(0).Elem()), "the key"))
		})
	}
	own := Kind("tool of a program")
	assert.Equal(t, own.Info(), KindInfo{Kind: own, Short: string(own)})
	assert.Equal(t, own.KeyOf(json.RawMessage(`{"name":"x"}`)), "")
	assert.Assert(t, !slices.Contains(slices.Collect(Kinds()), own))
}
