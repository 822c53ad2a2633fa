package installcmd

import (
	"encoding/json"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// An applicationFile is a file of an application.
type applicationFile struct {
	Application string `json:"application"`
	Title       string `json:"title"`
	Workspace   bool   `json:"workspace"`
	Path        string `json:"path"`
	Exists      bool   `json:"exists"`
	Servers     int    `json:"servers"`
}

// list prints the files of all applications.
func list(std *term.Streams, env *config.Environment, output string) error {
	files, rows := []applicationFile{}, [][]string{}
	for _, a := range appfile.Applications() {
		for _, f := range []applicationFile{{Path: a.UserFile(env)},
			{Path: a.WorkspaceFile(env), Workspace: true}} {
			if f.Path == "" {
				continue
			}
			f.Application, f.Title = a.Name, a.Title
			state, flag, servers := "absent", "", ""
			if f.Workspace {
				flag = "--workspace"
			}
			if f.Exists = env.Exists(f.Path); f.Exists {
				state = "exists"
				f.Servers = len(installed(env, f.Path))
				servers = command.Plural(f.Servers, "server")
			}
			files = append(files, f)
			rows = append(rows, []string{a.Name, flag, state, f.Path, servers})
		}
	}
	if output == "json" {
		text, err := json.Marshal(struct {
			Files []applicationFile `json:"files"`
		}{files})
		std.Out.PrintJSON(text)
		return err
	}
	std.Out.PrintTable(rows)
	return nil
}
