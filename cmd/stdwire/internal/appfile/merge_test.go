package appfile

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
)

func TestMerge(t *testing.T) {
	env := world(nil)
	added := parse(`{"inputs": [{"id": "k"}], "servers": {"a": {"command": "new", "args": ["1"]}, "b": {"command": "b"}}}`)
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "", `{
  "mcpServers": {
    "a": {
      "command": "new",
      "args": [
        "1"
      ]
    },
    "b": {
      "command": "b"
    }
  },
  "inputs": [
    {
      "type": "promptString",
      "id": "k"
    }
  ]
}
`},
		{"comments only", "// mine", "// mine\n" +
			string(config.Encode(added.Servers, added.Inputs, nil)) + "\n"},
		{"no servers", `{"x": 1}`, `{"x": 1,
  "mcpServers": {
    "a": {
      "command": "new",
      "args": [
        "1"
      ]
    },
    "b": {
      "command": "b"
    }
  },
  "inputs": [
    {
      "type": "promptString",
      "id": "k"
    }
  ]
}`},
		{"comments and layout", `// mine
{
	"inputs": [{"id": "k"}], // one
	"servers": {
		// the best
		"old": {"command": "old"}, // stays
		/* b is the same */ "b": {"command": ["b"]}
		// the end
	}, // of servers
}
`, `// mine
{
	"inputs": [{"id": "k"}], // one
	"servers": {
		// the best
		"old": {"command": "old"}, // stays
		/* b is the same */ "b": {"command": ["b"]},
		// the end
		"a": {
			"command": "new",
			"args": [
				"1"
			]
		}
	}, // of servers
}
`},
		{"a comma behind the last", `{"mcpServers": {
  "old": {"command": "old"}, // stays
}, "inputs": []}`, `{"mcpServers": {
  "old": {"command": "old"}, // stays
  "a": {
    "command": "new",
    "args": [
      "1"
    ]
  },
  "b": {
    "command": "b"
  },
}, "inputs": [
  {
    "type": "promptString",
    "id": "k"
  }
]}`},
		{"empty", `{"mcpServers":{},"inputs":[{"id":"k"}]}`, `{"mcpServers":{
  "a": {
    "command": "new",
    "args": [
      "1"
    ]
  },
  "b": {
    "command": "b"
  }
},"inputs":[{"id":"k"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change, err := Merge(env, "t.json", []byte(tt.file), added.Servers, added.Inputs, false)
			assert.NilError(t, err)
			got := change.After
			assert.Equal(t, string(got), tt.want)
			assert.Equal(t, change.Changed(), tt.file != tt.want)
			f := Parse(env, config.Source{Path: "t.json"}, got)
			assert.Equal(t, len(f.Diagnostics), 0, "%v", f.Diagnostics)
			again, err := Merge(env, "t.json", got, added.Servers, added.Inputs, false)
			assert.NilError(t, err)
			assert.Assert(t, !again.Changed(), "nothing is left to be done")
		})
	}
}

func TestMergeExisting(t *testing.T) {
	env := world(nil)
	added := parse(`{"servers": {"a": {"command": "new"}, "b": {"command": "b"}}}`)
	const file = `{
  "mcpServers": {
    "a": {"command": "old" /* lost */}, // stays
    "b": {}
  }
}`
	_, err := Merge(env, "t.json", []byte(file), added.Servers, nil, false)
	var exists *ExistsError
	assert.Assert(t, errors.As(err, &exists))
	assert.Error(t, err, "t.json already has a different a, b")
	got, err := Merge(env, "t.json", []byte(file), added.Servers, nil, true)
	assert.NilError(t, err)
	assert.Equal(t, string(got.After), `{
  "mcpServers": {
    "a": {
      "command": "new"
    }, // stays
    "b": {
      "command": "b"
    }
  }
}`)
	for _, tt := range []struct{ file, err string }{
		{"{", "t.json:1:2: expected a member name in quotation marks"},
		{"[]", "t.json:1:1: the file must be an object, not an array"},
		{`{"mcp": {"x": {"command": ["x"]}}}`,
			"t.json is in the format of another application, which has its servers under mcp and does not read stdwire's format"},
		{`{"context_servers": {}}`,
			"t.json is in the format of another application, which has its servers under context_servers and does not read stdwire's format"},
	} {
		_, err := Merge(env, "t.json", []byte(tt.file), added.Servers, nil, true)
		assert.Error(t, err, tt.err)
	}
	_, err = Merge(env, "x.toml", []byte("[mcp_servers]"), nil, nil, false)
	assert.Error(t, err, "x.toml is TOML; stdwire's own files are JSON")
	inputs := []config.Input{{ID: "k"}}
	_, err = Merge(env, "t.json", []byte(`{"servers": {}, "inputs": 5}`), nil, inputs, false)
	assert.Error(t, err, "t.json:1:27: inputs must be an array, not a number")
}

// Whatever the file is: if servers can be added, they are there afterwards, and so is all that was.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{"", "//", "{}",
		`{"servers":{"old":{"command":"x"},},"inputs":[1,/**/]}`, "{\"mcpServers\":{//\n}}",
		"\xEF\xBB\xBF{\"x\":[]\r\n}"} {
		f.Add([]byte(seed))
	}
	added := parse(`{"servers": {"added-by-merge": {"command": "new"}}}`)
	inputs := []config.Input{{ID: "added-by-merge"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		env := world(nil)
		before := Parse(env, config.Source{Path: "f"}, data)
		change, err := Merge(env, "f", data, added.Servers, inputs, false)
		if err != nil {
			return
		}
		merged := change.After
		after := Parse(env, config.Source{Path: "f"}, merged)
		if after.Err() != nil {
			t.Fatalf("%q became %q: %v", data, merged, after.Err())
		}
		has := map[string]string{}
		for _, s := range after.Servers {
			has[s.ID] = string(s.JSON())
		}
		if has["added-by-merge"] != `{"command":"new"}` {
			t.Fatalf("%q became %q", data, merged)
		}
		for _, s := range before.Servers {
			if has[s.ID] != string(s.JSON()) {
				t.Fatalf("%q became %q: %s is not what it was", data, merged, s.ID)
			}
		}
	})
}
