package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The state key is that of a variable or of a file, without the line break at its end.
func TestStateKey(t *testing.T) {
	key := strings.Repeat("0123456789abcdef", 2)
	t.Setenv("STDWIRE_TEST_SECRET", key)
	path := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	file := path("key", key+"\n")
	for _, tc := range []struct {
		flags []string // each with its value
		want  string   // the error; "" if the key is set
		given string
	}{
		{[]string{"--state-key-env", "STDWIRE_TEST_SECRET"}, "", "--state-key-env"},
		{[]string{"--state-key-file", file}, "", "--state-key-file"},
		{[]string{"--state-key-env", "STDWIRE_TEST_SECRET", "--state-key-file", file},
			"exclude each other", "--state-key-env"},
		{[]string{"--state-key-file", path("short", key[1:]+"\n")}, "fewer than 32 bytes", ""},
		{[]string{"--state-key-file", filepath.Join(t.TempDir(), "none")}, "none", ""},
		{[]string{"--state-key-env", "STDWIRE_TEST_UNSET"}, "fewer than 32 bytes", ""},
	} {
		w := new(HTTPFlags)
		var err error
		for i := 0; i < len(tc.flags) && err == nil; i += 2 {
			for _, f := range w.Flags() {
				if f.Name == tc.flags[i] {
					err = f.Set(tc.flags[i+1])
				}
			}
		}
		if tc.want == "" {
			assert.NilError(t, err)
			assert.Equal(t, string(w.StateKey), key)
			assert.Equal(t, w.StateKeyFlag(), tc.given)
		} else {
			assert.ErrorContains(t, err, tc.want)
			assert.Assert(t, !strings.Contains(err.Error(), key[1:]), err)
		}
	}
}
