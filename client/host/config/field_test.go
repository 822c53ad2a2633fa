package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// A new member is one row: it is then read, described by the schema and the help, encoded, covered
// by digests and redacted.
func TestNewField(t *testing.T) {
	// The value is stored where no member has its value.
	fields := append(serverFields(), field[*Server]{names: []string{"colour"},
		valueType: textType, help: "The colour.",
		at: func(s *Server) any { return &s.Overrides.File }})

	text, err := jsonedit.ParseJSON("f", []byte(`{"command": "x", "colour": "red"}`))
	assert.NilError(t, err)
	root, _ := text.Root()
	s := new(Server)
	r := &reader{Text: text}
	readMembers(r, root, "", s, fields, func(m jsonedit.Member) { t.Errorf("%s is unknown", m.Name) })
	assert.NilError(t, r.err)
	assert.Equal(t, s.Overrides.File, "red")

	assert.DeepEqual(t, objectSchema(fields)["properties"].(object)["colour"],
		object{"type": "string", "description": "The colour."})
	help := appendFields(nil, "server", fields)
	assert.DeepEqual(t, help[len(help)-1],
		Field{Object: "server", Names: []string{"colour"}, Type: "text", Help: "The colour."})

	assert.Equal(t, string(definition(fields, s)), `{"command":"x","colour":"red"}`)
	other := *s
	other.Overrides.File = "blue"
	assert.Assert(t, digest(definition(fields, s)) != digest(definition(fields, &other)))

	redactFields(fields, &other)
	assert.Equal(t, string(definition(fields, &other)), `{"command":"x","colour":"…"}`)
	secrets := secretMembers(fields, root)
	assert.Equal(t, len(secrets), 1)
	assert.Equal(t, string(secrets[0].JSON()), `"red"`)
}

// The exported functions use each field of a server.
func TestServerFields(t *testing.T) {
	described := map[string]bool{}
	for _, f := range Fields() {
		if f.Object == "server" {
			described[f.Names[0]] = true
		}
	}
	var schema struct {
		Defs struct {
			Server struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	assert.NilError(t, json.Unmarshal(Schema(), &schema))
	settings := settingFields()
	for _, f := range serverFields() {
		name := f.names[0]
		assert.Assert(t, described[name] && schema.Defs.Server.Properties[name] != nil, name)
		if f.at == nil {
			assert.Assert(t, f.read != nil, name)
			continue
		}
		s := new(Server)
		switch p := f.at(s).(type) {
		case *string:
			*p = "https://ghp_0123456789abcdefghij@a.example"
		case *[]string:
			*p = []string{"Bearer s3cret"}
		case *map[string]string:
			*p = map[string]string{"A": "s3cret"}
		case *bool:
			*p = true
		case *int:
			*p = 5
		case *time.Duration:
			*p = 5 * time.Millisecond
		case **OAuth:
			*p = &OAuth{ClientSecret: "s3cret"}
		case **Credentials:
			*p = &Credentials{Type: CredentialExchange, TokenEndpoint: "https://a.example",
				ClientID: "a", ClientSecret: "s3cret"}
		case *map[string]host.Override:
			*p = map[string]host.Override{"a": {Name: "b", Arguments: map[string]host.ArgumentOverride{
				"c": {Value: json.RawMessage(`"s3cret"`)}}}}
		default:
			t.Fatalf("%s: %T", name, p)
		}
		text := string(s.JSON())
		assert.Assert(t, strings.Contains(text, `"`+name+`":`), "%s: %s", name, text)
		again := parse(`{"mcpServers": {"s": ` + text + `}}`).Servers[0]
		assert.Equal(t, string(again.JSON()), text, "%s is not what was read", name)
		assert.Equal(t, s.Digest() != new(Server).Digest(), !f.outsideDigest, name)
		assert.Assert(t, s.TrustDigest() != new(Server).TrustDigest(), name)

		isSetting := slices.ContainsFunc(settings,
			func(o field[*Server]) bool { return o.names[0] == name })
		assert.Equal(t, len(maps.Collect(s.Settings())) > 0, isSetting, name)
		hidden := f.secret != notSecret
		assert.Equal(t, !bytes.Equal(s.Redacted().JSON(), s.JSON()), hidden, name)
		assert.Equal(t, len(SecretRanges(s.JSON())) > 0, hidden, name)
	}
}

// Each field of a server and of what it contains is the value of a member, which digests cover, or
// says where the definition is and how it was read.
func TestFieldsHaveMembers(t *testing.T) {
	notMembers := []string{"ID", "Position", "Workspace", "Base", "Project", "Overrides", "Inputs",
		"Err"}
	s := &Server{OAuth: new(OAuth), Credentials: new(Credentials)}
	var visit func(v reflect.Value, prefix string)
	visit = func(v reflect.Value, prefix string) {
		for i := range v.NumField() {
			f, name := v.Field(i), prefix+v.Type().Field(i).Name
			if !f.CanSet() || slices.Contains(notMembers, name) {
				continue
			}
			if f.Kind() == reflect.Pointer {
				f = f.Elem()
			}
			if f.Kind() == reflect.Struct {
				visit(f, name+".")
				continue
			}
			before := string(s.JSON())
			setNonzero(f)
			assert.Check(t, string(s.JSON()) != before, "no row of serverfields.go encodes %s", name)
			f.SetZero()
		}
	}
	visit(reflect.ValueOf(s).Elem(), "")
}

// setNonzero sets a value other than zero.
func setNonzero(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		if value.Kind() != reflect.Struct {
			setNonzero(value)
		}
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a"), value)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"a"}))
	case reflect.Uint8, reflect.Uint: // an enumeration
		v.SetUint(1)
	default:
		v.SetInt(int64(time.Second))
	}
}
