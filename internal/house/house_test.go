// Package house checks that the packages keep to their floors: which may import which, and what the shipped ones link.
package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const module = "github.com/stdwire/stdwire/"

// floors is the house from the ground up: what each package may import of the packages of this module. A package may import what is
// below it, never beside or above it; a package that is not listed here may not exist.
var floors = []struct {
	name string
	may  []string
}{
	{"internal/contain", nil},
	{"internal/jsonscan", nil},
	{"internal/jsonexact", []string{"internal/jsonscan"}},
	{"internal/jose", []string{"internal/jsonscan", "internal/jsonexact"}},
	{"internal/near", nil},
	{"internal/atomicfile", nil},
	{"internal/printable", nil},
	{"internal/shellwords", nil},
	{"internal/terminal", nil},
	{"cmd/stdwire/internal/lineedit", []string{"internal/atomicfile", "internal/terminal"}},
	{"internal/form", []string{"internal/jsonscan"}},
	{"internal/render", []string{"internal/jsonscan", "internal/printable"}},
	{"internal/jsondiff", []string{"internal/jsonscan", "internal/printable"}},
	{"internal/processgroup", nil},
	{"internal/child", []string{"internal/contain", "internal/printable", "internal/processgroup"}},
	{"cmd/stdwire/internal/guard", []string{"internal/processgroup"}},
	{"internal/lograte", nil},
	{"internal/httpdeadline", nil},
	{"internal/sse", nil},
	{"internal/oauth", []string{"internal/jsonexact"}},
	{"internal/uritemplate", nil},
	{"framing", nil},
	{"dispatch/schema", []string{"internal/jsonscan", "internal/near"}},
	{"dispatch/quota", nil},

	{"cmd/stdwire/internal/tap", []string{"internal/jsonscan", "internal/jsondiff", "framing"}},
	{"rpc", []string{"internal/contain", "internal/jsonscan", "internal/jsonexact", "framing"}},
	{"dispatch", []string{"internal/contain", "internal/jsonscan", "internal/jsonexact", "dispatch/schema", "dispatch/quota"}},

	{"rpc/mcp", []string{"internal/jsonscan", "internal/jsonexact", "rpc"}},
	{"dispatch/cli", []string{"internal/contain", "internal/near", "internal/printable", "internal/shellwords", "internal/terminal", "internal/render", "internal/form", "internal/jsonscan", "dispatch/schema", "dispatch"}},
	{"dispatch/api", []string{"internal/contain", "internal/httpdeadline", "internal/jsonscan", "internal/jsonexact", "internal/form", "internal/lograte", "dispatch/schema", "dispatch/quota", "dispatch"}},
	{"cmd/stdwire/internal/ops/fs", []string{"internal/atomicfile", "dispatch/quota", "dispatch"}},
	{"cmd/stdwire/internal/ops/proc", []string{"internal/printable", "internal/child", "cmd/stdwire/internal/guard", "dispatch", "cmd/stdwire/internal/ops/fs"}},

	{"server", []string{"internal/contain", "internal/jsonscan", "internal/uritemplate", "framing", "rpc", "rpc/mcp", "dispatch", "dispatch/schema", "dispatch/quota"}},
	{"server/streamable", []string{"internal/contain", "internal/httpdeadline", "internal/jsonscan", "internal/lograte", "internal/sse", "dispatch/quota", "rpc", "rpc/mcp", "server"}},
	{"client", []string{"internal/contain", "internal/printable", "internal/jsonscan", "internal/child", "framing", "rpc", "rpc/mcp", "dispatch/schema"}},

	{"client/host", []string{"internal/contain", "rpc", "rpc/mcp", "client"}},
	{"client/host/pin", []string{"internal/atomicfile", "internal/jsonscan", "internal/jsondiff"}},
	{"cmd/stdwire/internal/scan", []string{"internal/jsonscan", "internal/printable"}},
	{"cmd/stdwire/internal/ops/host", []string{"dispatch", "client/host"}},
	{"client/host/gateway", []string{"internal/contain", "internal/atomicfile", "internal/jsonscan", "internal/jsondiff", "internal/uritemplate", "rpc", "rpc/mcp", "dispatch", "dispatch/quota", "client", "client/host", "client/host/pin", "server"}},
	{"client/streamable", []string{"internal/contain", "internal/jsonscan", "internal/printable", "internal/sse", "framing", "rpc", "rpc/mcp", "client"}},

	{"server/auth", []string{"internal/contain", "dispatch/quota", "internal/jose", "internal/jsonexact", "internal/lograte", "internal/oauth", "server/streamable"}},
	{"client/auth", []string{"internal/contain", "internal/atomicfile", "internal/jose", "internal/jsonexact", "internal/oauth", "internal/printable", "rpc/mcp"}},

	{"client/host/config", []string{"internal/atomicfile", "internal/jsonscan", "internal/near", "internal/oauth", "internal/shellwords", "rpc/mcp", "client", "client/host"}},

	{"cmd/stdwire", []string{
		"internal/atomicfile", "internal/near", "internal/printable", "internal/shellwords", "internal/terminal", "cmd/stdwire/internal/lineedit", "internal/render", "internal/form",
		"internal/jsonscan", "internal/child", "internal/lograte", "framing", "rpc", "rpc/mcp", "dispatch", "dispatch/schema", "dispatch/quota", "dispatch/cli", "dispatch/api",
		"cmd/stdwire/internal/guard", "cmd/stdwire/internal/ops/fs", "cmd/stdwire/internal/ops/proc", "cmd/stdwire/internal/tap", "server", "server/streamable", "server/auth", "client", "client/streamable", "client/auth", "internal/oauth", "client/host", "client/host/config", "client/host/gateway", "client/host/pin", "cmd/stdwire/internal/scan", "cmd/stdwire/internal/ops/host",
	}},
}

// mayLinkHTTP are the packages that may link net/http.
var mayLinkHTTP = []string{"dispatch/api", "internal/httpdeadline", "server/streamable", "server/auth", "client/streamable", "client/auth", "cmd/stdwire"}

// outside are packages that are no part of what ships, and may import anything of this module.
var outside = []string{"internal/conformance", "internal/growth", "internal/house"}

type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// list runs go list on all packages of the module, or on those given.
func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil && runtime.GOOS == "windows" {
		t.Skip("there is no go command here; systems other than Windows do not skip this")
	}
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps,GoFiles"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	assert.NilError(t, err)
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func shipped(t *testing.T) []goPackage {
	return slices.DeleteFunc(list(t, "./..."), func(p goPackage) bool {
		name := strings.TrimPrefix(p.ImportPath, module)
		return len(p.GoFiles) == 0 || slices.ContainsFunc(outside, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") })
	})
}

func TestImportTable(t *testing.T) {
	may := map[string][]string{}
	for _, floor := range floors {
		may[floor.name] = floor.may
	}
	for _, p := range shipped(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := may[name]
		if !known {
			t.Errorf("%s is on no floor of the house: add it to the table, and to CONTRIBUTING.md", name)
			continue
		}
		for _, path := range p.Imports {
			if other, ours := strings.CutPrefix(path, module); ours && !slices.Contains(allowed, other) {
				t.Errorf("%s must not import %s", name, other)
			}
		}
	}
}

// A package may only be allowed what stands before it in the table, so the table itself cannot have a cycle.
func TestTableIsAHouse(t *testing.T) {
	seen := map[string]bool{}
	for _, floor := range floors {
		for _, other := range floor.may {
			assert.Assert(t, seen[other], "%s stands on %s, which is not below it", floor.name, other)
		}
		assert.Assert(t, !seen[floor.name], floor.name)
		seen[floor.name] = true
	}
}

func TestOnlyTheStandardLibraryIsLinked(t *testing.T) {
	standard := map[string]bool{"C": true}
	for _, p := range list(t, "-deps", "./...") {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range shipped(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, dep := range p.Deps {
			if !standard[dep] && !strings.HasPrefix(dep, module) {
				t.Errorf("%s links %s, which is outside the standard library", name, dep)
			}
			if dep == "net/http" && !slices.Contains(mayLinkHTTP, name) {
				t.Errorf("%s links net/http", name)
			}
		}
	}
}
