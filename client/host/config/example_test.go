package config_test

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stdwire/stdwire/client/host/config"
)

func Example() {
	project, err := filepath.Abs("project")
	if err != nil {
		fmt.Println(err)
		return
	}
	files := map[string]string{filepath.Join(project, ".vscode", "mcp.json"): `{
		// What the project needs.
		"servers": {"db": {"command": "npx", "args": ["-y", "db-server", "${DB:-test}"], "env": {"TOKEN": "${env:DB_TOKEN}"}}},
	}`}
	env := &config.Environment{
		Dir: project, Home: filepath.Dir(project),
		LookupEnv: func(name string) (string, bool) { return "t0ken", name == "DB_TOKEN" },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		Exists: func(string) bool { return false },
	}
	server, err := config.Load(env).Server("db")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(filepath.Base(server.Position.String()), "wants to be trusted:", server.Project)
	fmt.Printf("%s\n", server.Redacted().JSON())
	endpoint, err := server.Resolve(env)
	fmt.Println(endpoint.Command.Path, endpoint.Command.Args, len(endpoint.Command.Env), err)
	// Output:
	// mcp.json:3:15 wants to be trusted: true
	// {"command":"npx","args":["-y","db-server","${DB:-…}"],"env":{"TOKEN":"${env:DB_TOKEN}"}}
	// npx [-y db-server test] 1 <nil>
}
